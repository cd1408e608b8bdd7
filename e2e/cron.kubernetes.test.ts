import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallInput } from '../packages/client/src/index.ts';
import { statement } from '../packages/db/src/index.ts';
import { testCluster } from '../packages/drivers/src/kubernetes/testing/cluster.ts';
import { eventually } from './support/eventually.ts';
import { KubernetesSetup, madeKinds } from './support/kubernetes-setup.ts';

/*
 * Cron jobs whose runs a Kubernetes cluster starts by itself, with a real server. Each test builds on the one before.
 */

const cluster = testCluster();
const canary = 'canary-of-cron';
const minute = 60_000;
const shell = (script: string) => ({ entrypoint: '/bin/sh', arguments: ['-c', script] });
const runsOf = statement<{ id: string; status: string; failure: { code: string } | null; by_cluster: boolean }>(
  'e2e_runs_on_kubernetes',
  'SELECT id, status, failure, by_cluster FROM job_run WHERE service_id = $1 ORDER BY due_at',
);

type Body = CallInput<'createJob'>['body'];

describe.skipIf(cluster.missing !== null)(
  `cron jobs on Kubernetes${cluster.missing === null ? '' : ` (${cluster.missing})`}`,
  () => {
    let setup: KubernetesSetup;
    let params: { jobId: string };
    beforeAll(async () => {
      setup = await KubernetesSetup.open(cluster);
      const { kubeconfig, ids } = setup;
      await setup.davit.client.call('editClusterKubeconfig', { params: ids, body: kubeconfig });
    });
    afterAll(() => setup?.close());

    const body = (script: string, fields: Partial<Body> = {}): Body => {
      const { registryId, image } = setup;
      const source = { image: { image_name: image.name, tag: image.tag, registry_id: registryId } };
      const cronjob = { ...shell(script), scheduled_at: '* * * * *', timezone: 'europe/paris' };
      return { name: 'tick', source, healthchecks: {}, cpu: 50, memory: 64, schedule: { cronjob }, ...fields };
    };
    const deploy = async (forceEvent?: 'CRON') => {
      const { client } = setup.davit;
      const query = forceEvent === undefined ? {} : { forceEvent };
      await setup.settled(() => client.call('deployJob', { params, query }));
      return client.call('getJobStatus', { params });
    };
    const output = async (): Promise<string[]> =>
      (await setup.davit.client.call('listJobLog', { params, query: {} })).results.map(({ message }) => message);
    const runs = () => setup.davit.database.database.many(runsOf, [params.jobId]);
    const gone = (kind: (typeof madeKinds)[number]) =>
      eventually(async () => ((await setup.names(kind, params.jobId)).length === 0 ? true : undefined), `no ${kind}`);

    test('a deployment puts the schedule on the cluster, and runs nothing', async () => {
      const { client } = setup.davit;
      const { environmentId } = setup;
      const reported = `{"NOW": {"value": "'$(date +%s)'"}}`;
      const script = `echo "tack $PASSWORD"; echo '${reported}' >/davit-output/davit-output.json`;
      params = { jobId: (await client.call('createJob', { params: { environmentId }, body: body(script) })).id };
      await client.call('createJobSecret', { params, body: { key: 'PASSWORD', value: canary } });
      expect(await deploy()).toMatchObject({ state: 'DEPLOYED', failure: null });
      expect(await setup.names('CronJob', params.jobId)).toHaveLength(1);
      expect(await setup.log()).toMatch(/on the cluster, which starts its runs; the next run is at/);
      expect(await runs()).toEqual([]);
    });

    test('what ran while the server was stopped is known after its start, with its output', async () => {
      await setup.davit.kill('SIGTERM');
      await eventually(
        async () => ((await setup.names('Job', params.jobId)).length > 0 ? true : undefined),
        'a run without Davit',
        2 * minute,
      );
      await pause(3_000);
      await setup.davit.serve();
      const [first] = await eventually(async () => {
        const all = await runs();
        return all[0]?.status === 'SUCCEEDED' ? all : undefined;
      }, 'the first run');
      expect(first).toMatchObject({ by_cluster: true, failure: null });
      const lines = await output();
      expect(lines[0]).toMatch(/^tack /);
      expect(lines.join()).not.toContain(canary);
      await gone('Job');
      await gone('Pod');
      const { environmentId } = setup;
      const { results } = await setup.davit.client.call('listEnvironmentEnvironmentVariable', { params: { environmentId } });
      expect(results.map(({ key }) => key)).toContain('NOW');
      expect(await setup.davit.client.call('getJobStatus', { params })).toMatchObject({ running_status: 'COMPLETED' });
    });

    const edit = (script: string, fields: Partial<Body> = {}) =>
      setup.davit.client.call('editJob', { params, body: body(script, fields) });
    const underWay = () =>
      eventually(async () => (await runs()).find(({ status }) => status === 'RUNNING'), 'a run under way', 2 * minute);
    const endOf = (id: string) =>
      eventually(
        async () => (await runs()).find((run) => run.id === id && run.status !== 'RUNNING'),
        'the end of the run',
        minute,
      );

    test('a run that failed while the server was killed was tried again, and all of its output is there', async () => {
      await edit('echo "no table, said $(hostname)"; exit 7', { max_nb_restart: 1 });
      await deploy();
      const before = new Set((await runs()).map(({ id }) => id));
      await setup.davit.kill('SIGKILL');
      // The second attempt begins ten seconds after the first has ended.
      await eventually(
        async () => ((await setup.names('Pod', params.jobId)).length >= 2 ? true : undefined),
        'two attempts',
        2 * minute,
      );
      await setup.davit.serve();
      const failed = await eventually(async () => (await runs()).find((run) => !before.has(run.id)), 'the run');
      expect(await endOf(failed.id)).toMatchObject({ status: 'FAILED', failure: { code: 'JOB_FAILED' } });
      const lines = (await output()).filter((line) => line.startsWith('no table'));
      expect(new Set(lines).size).toBe(2);
      expect((await output()).join()).toMatch(/failed \(JOB_FAILED\): .*exit code 7/);
      await setup.davit.client
        .call('getJobStatus', { params })
        .then(({ running_status }) => expect(running_status).toBe('ERROR'));
    });

    test('a redeployment lets a run under way go on, and the next one is the new one', async () => {
      await edit('echo old; sleep 25; echo "old $PASSWORD" | wc -c');
      await deploy();
      const { id } = await underWay();
      await edit('echo new');
      await deploy();
      expect(await setup.names('CronJob', params.jobId)).toHaveLength(1);
      expect(await endOf(id)).toMatchObject({ status: 'SUCCEEDED' });
      expect(await output()).toContain(String(`old ${canary}\n`.length));
      await eventually(async () => ((await output()).includes('new') ? true : undefined), 'the new run', 2 * minute);
      // Nothing reads the values of the former release any more.
      await eventually(async () => ((await setup.names('Secret', params.jobId)).length === 1 ? true : undefined), 'one secret');
    });

    test('runs once now when that is asked for, and goes on by its schedule', async () => {
      await edit('echo "now $DAVIT_JOB_ACTION"');
      expect(await deploy('CRON')).toMatchObject({ state: 'DEPLOYED', failure: null });
      expect(await output()).toContain('now CRON');
      const before = new Set((await runs()).map(({ id }) => id));
      const next = await eventually(
        async () => (await runs()).find(({ id }) => !before.has(id)),
        'a run of the schedule',
        2 * minute,
      );
      expect(await endOf(next.id)).toMatchObject({ status: 'SUCCEEDED' });
    });

    test('a stop ends the run under way and takes the schedule away; a deployment brings it back', async () => {
      const { client } = setup.davit;
      await edit('echo long; sleep 600');
      await deploy();
      const { id } = await underWay();
      await setup.settled(() => client.call('stopJob', { params }));
      expect(await endOf(id)).toMatchObject({ status: 'CANCELED' });
      for (const kind of ['CronJob', 'Job', 'Pod', 'Secret'] as const) await gone(kind);
      await deploy();
      expect(await setup.names('CronJob', params.jobId)).toHaveLength(1);
      const wrong = body('true', {
        schedule: { cronjob: { ...shell('true'), scheduled_at: '0 0 L * *', timezone: 'Etc/UTC' } },
      });
      await client.call('editJob', { params, body: wrong });
      expect(await deploy()).toMatchObject({ state: 'DEPLOYED' });
      expect(await setup.log()).toMatch(/Davit starts the runs of this schedule itself.*does not support L/);
      await gone('CronJob');
    });

    test('nothing is left of it after it was deleted', async () => {
      const { client } = setup.davit;
      await edit('echo last; sleep 600');
      await deploy();
      await underWay();
      await setup.settled(() => client.call('deleteJob', { params }));
      for (const kind of madeKinds) expect(await setup.names(kind, params.jobId)).toEqual([]);
    });
  },
);
