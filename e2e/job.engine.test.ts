import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallInput } from '../packages/client/src/index.ts';
import { statement } from '../packages/db/src/index.ts';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { busybox, TestSetup } from './support/setup.ts';

const setDue = statement('e2e_set_due', 'UPDATE job_schedule SET next_at = clock_timestamp() WHERE service_id = $1');

type JobFields = Partial<CallInput<'createJob'>['body']>;

const shell = (script: string) => ({ entrypoint: '/bin/sh', arguments: ['-c', script] });

/**
 * The points at which the server is killed during the first deployment. The crash matrix covers all other points, and
 * these points for a job that was deployed before: `job, DEPLOY, killed at …`.
 */
const points = ['launch:after', 'launch:recorded', 'arm:after'] as const;

describe.each(testEngineKinds())('a job on %s', (kind) => {
  let setup: TestSetup;
  let source: CallInput<'createJob'>['body']['source'];
  beforeAll(async () => {
    setup = await TestSetup.open(kind);
    const { url } = setup.repository('jobs', { 'readme.txt': 'no Dockerfile here\n' });
    const dockerfile_raw = `FROM ${busybox}\nCOPY readme.txt /readme.txt\n`;
    source = { docker: { git_repository: { url, branch: 'main' }, dockerfile_raw } };
  });
  afterAll(async () => {
    await setup?.close();
  });

  const create = async (name: string, fields: JobFields): Promise<{ jobId: string }> => {
    const { environmentId } = setup;
    const body = { name, source, healthchecks: {}, memory: 64, schedule: {}, ...fields };
    return { jobId: (await setup.davit.client.call('createJob', { params: { environmentId }, body })).id };
  };
  const latest = async (params: { jobId: string }): Promise<string | undefined> =>
    (await setup.davit.client.call('listJobDeploymentHistoryV2', { params })).results[0]?.identifier.execution_id;
  /** Runs an action that deploys the job, and waits for the end of the deployment. */
  const done = async (params: { jobId: string }, act: () => Promise<unknown>) => {
    const before = await latest(params);
    await act();
    await setup.idleAfter(async () => (await latest(params)) !== before);
    return setup.davit.client.call('getJobStatus', { params });
  };
  const deploy = (params: { jobId: string }, query: CallInput<'deployJob'>['query'] = {}) =>
    done(params, () => setup.davit.client.call('deployJob', { params, query }));
  const output = async (params: { jobId: string }): Promise<string[]> =>
    (await setup.davit.client.call('listJobLog', { params, query: {} })).results.map(({ message }) => message);

  test('is built from its own Dockerfile, runs to its end, and only its output stays', async () => {
    const params = await create('migrate', { schedule: { on_start: shell('cat /readme.txt; echo $DAVIT_JOB_ACTION $COLOR') } });
    await setup.davit.client.call('createJobEnvironmentVariable', { params, body: { key: 'COLOR', value: 'red' } });
    expect(await deploy(params)).toMatchObject({
      state: 'DEPLOYED',
      service_deployment_status: 'UP_TO_DATE',
      running_status: 'COMPLETED',
      failure: null,
    });
    expect(await output(params)).toEqual(['no Dockerfile here', 'START red']);
    expect(await setup.containers(params.jobId)).toEqual([]);
  });

  test('tells its environment what it made', async () => {
    const reported = '{"DB_HOST": {"value": "db.internal"}, "DB_KEY": {"value": "s3same", "sensitive": true}}';
    const params = await create('infra', {
      schedule: { on_start: shell(`echo '${reported}' > /davit-output/davit-output.json`) },
    });
    expect(await deploy(params)).toMatchObject({ state: 'DEPLOYED', service_deployment_status: 'UP_TO_DATE' });
    const { environmentId } = setup;
    const { results } = await setup.davit.client.call('listEnvironmentEnvironmentVariable', { params: { environmentId } });
    const key = `DAVIT_OUTPUT_JOB_Z${params.jobId.slice(0, 8).toUpperCase()}_DB_HOST`;
    expect(results.find((one) => one.key === key)).toMatchObject({ scope: 'BUILT_IN', value: 'db.internal' });
    expect(results.find((one) => one.key === 'DB_HOST')).toMatchObject({ scope: 'ENVIRONMENT', aliased_variable: { key } });
    expect(await setup.log()).not.toContain('s3same');
  });

  test('that fails is tried again as often as it may be, then says how it ended', async () => {
    const params = await create('broken', { max_nb_restart: 1, schedule: { on_start: shell('echo no table; exit 7') } });
    const status = await deploy(params);
    expect(status).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'JOB_FAILED' } });
    expect(status.failure?.message).toContain('exit code 7 at the last of 2 attempts');
    expect(await output(params)).toEqual(['no table', 'no table']);
    expect(await setup.containers(params.jobId)).toEqual([]);
  });

  test('is killed when it takes longer than it may', async () => {
    const params = await create('slow', { max_duration_seconds: 2, schedule: { on_start: shell('echo busy; sleep 600') } });
    expect(await deploy(params)).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'JOB_TIMEOUT' } });
    expect(await output(params)).toEqual(['busy']);
    expect(await setup.containers(params.jobId)).toEqual([]);
  });

  test('runs its other events when it is stopped and deleted, or when one is asked for', async () => {
    const schedule = { on_start: shell('echo up'), on_stop: shell('echo down'), on_delete: shell('echo gone; exit 1') };
    const params = await create('guard', { schedule });
    expect((await deploy(params)).state).toBe('DEPLOYED');
    expect((await deploy(params, { forceEvent: 'STOP' })).state).toBe('DEPLOYED');
    expect((await done(params, () => setup.davit.client.call('stopJob', { params }))).state).toBe('STOPPED');
    expect(await output(params)).toEqual(['up', 'down', 'down']);
    const status = await done(params, () => setup.davit.client.call('deleteJob', { params }));
    expect(status).toMatchObject({ state: 'DELETE_ERROR', failure: { code: 'JOB_FAILED' } });
    expect((await output(params)).at(-1)).toBe('gone');
    // Correcting the job is how a user recovers from the failed deletion.
    await setup.davit.client.call('editJob', { params, body: { schedule: { on_start: shell('echo up') } } });
    expect((await deploy(params)).state).toBe('DEPLOYED');
    await setup.davit.client.call('deleteJob', { params });
    const gone = () =>
      setup.davit.client.call('getJob', { params }).then(
        () => undefined,
        () => true,
      );
    await eventually(gone, 'the end of the job', 60_000);
    expect(await setup.containers(params.jobId)).toEqual([]);
  });

  test.each(points)('runs once although the server is killed at %s', async (point) => {
    const params = await create(point.replace(':', ' '), { schedule: { on_start: shell('echo begin; sleep 1; echo end') } });
    setup.davit.order(point, 'kill');
    await setup.davit.client.call('deployJob', { params });
    await setup.davit.exited();
    await setup.davit.serve();
    await setup.idleAfter(async () => (await latest(params)) !== undefined);
    expect((await setup.davit.client.call('getJobStatus', { params })).state).toBe('DEPLOYED');
    expect(await output(params)).toEqual(['begin', 'end']);
    expect(await setup.containers(params.jobId)).toEqual([]);
  });

  test('is waited for when the server is killed while it runs', async () => {
    const params = await create('long', { schedule: { on_start: shell('echo begin; sleep 4; echo end') } });
    await setup.davit.client.call('deployJob', { params });
    await eventually(async () => ((await output(params)).length > 0 ? true : undefined), 'the first line', 60_000);
    const [before] = await setup.containers(params.jobId);
    await setup.davit.kill('SIGKILL');
    await setup.davit.serve();
    const [after] = await setup.containers(params.jobId);
    expect(after?.Id).toBe(before?.Id);
    await setup.idleAfter(async () => (await latest(params)) !== undefined);
    expect((await setup.davit.client.call('getJobStatus', { params })).state).toBe('DEPLOYED');
    expect(await output(params)).toEqual(['begin', 'end']);
  });

  test('with a schedule runs at its times, also when the server is killed in the middle of a run', async () => {
    const cronjob = { scheduled_at: '0 4 * * *', timezone: 'Europe/Paris', ...shell('echo begin; sleep 3; echo end') };
    const params = await create('tick', { schedule: { cronjob } });
    expect((await deploy(params)).state).toBe('DEPLOYED');
    expect(await output(params)).toEqual([]);
    await setup.davit.database.database.run(setDue, [params.jobId]);
    await eventually(async () => ((await output(params)).length > 0 ? true : undefined), 'the first line', 60_000);
    const [before] = await setup.containers(params.jobId);
    await setup.davit.kill('SIGKILL');
    await setup.davit.serve();
    expect((await setup.containers(params.jobId))[0]?.Id).toBe(before?.Id);
    await eventually(async () => ((await setup.containers(params.jobId)).length === 0 ? true : undefined), 'the end', 60_000);
    expect(await output(params)).toEqual(['begin', 'end']);
    expect((await deploy(params, { forceEvent: 'CRON' })).state).toBe('DEPLOYED');
    expect(await output(params)).toEqual(['begin', 'end', 'begin', 'end']);
  });
});
