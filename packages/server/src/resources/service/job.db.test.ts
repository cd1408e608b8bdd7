import { randomUUID } from 'node:crypto';
import type { CallInput, Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let organizationId: string;
let environmentId: string;
let registryId: string;
beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
  organizationId = (await server.organization()).id;
  const project = await client.call('createProject', { params: { organizationId }, body: { name: 'shop' } });
  environmentId = (await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } })).id;
  const body = { name: randomUUID(), kind: 'GENERIC_CR' as const, url: 'https://registry.example.org', config: {} };
  registryId = (await client.call('createContainerRegistry', { params: { organizationId }, body })).id;
});
afterAll(() => server.close());

type Body = CallInput<'createJob'>['body'];
const image = () => ({ image_name: 'team/migrate', tag: '1', registry_id: registryId });
const docker = { git_repository: { url: 'https://git.example.org/shop/jobs.git', branch: 'main' } };
const job = (body: Partial<Body> = {}) =>
  client.call('createJob', {
    params: { environmentId },
    body: {
      name: randomUUID(),
      healthchecks: {},
      source: { image: image() },
      schedule: { on_start: { arguments: ['up'] } },
      ...body,
    },
  });

describe('a job', () => {
  test('of an image has the documented defaults, is read, listed, edited and deleted', async () => {
    const made = await job({ name: 'Migrate' });
    expect(made).toMatchObject({
      name: 'Migrate',
      service_type: 'JOB',
      job_type: 'LIFECYCLE',
      environment: { id: environmentId },
      cpu: 500,
      memory: 512,
      gpu: 0,
      maximum_gpu: 0,
      max_nb_restart: 0,
      port: null,
      auto_preview: false,
      auto_deploy: false,
      healthchecks: { readiness_probe: null, liveness_probe: null },
      icon_uri: 'app://davit-console/lifecycle-job',
      source: { image: { image_name: 'team/migrate', tag: '1', registry_id: registryId, registry: { id: registryId } } },
      schedule: { on_start: { arguments: ['up'] }, lifecycle_type: 'GENERIC' },
    });
    for (const foreign of ['ports', 'storage', 'entrypoint', 'max_duration_seconds']) expect(made).not.toHaveProperty(foreign);
    const params = { jobId: made.id };
    expect(await client.call('getJob', { params })).toEqual(made);
    expect((await client.call('listJobs', { params: { environmentId } })).results).toContainEqual(made);
    expect((await client.call('listServicesByEnvironmentId', { params: { environmentId } })).results).toContainEqual(made);
    const stage = await client.call('getServiceDeploymentStage', { params: { serviceId: made.id } });
    expect(stage.name).toBe('JOB DEFAULT');
    const edited = await client.call('editJob', {
      params,
      body: { max_nb_restart: 2, max_duration_seconds: 60, port: 8080, source: { image: { tag: '2' } } },
    });
    expect(edited).toMatchObject({
      max_nb_restart: 2,
      max_duration_seconds: 60,
      port: 8080,
      source: { image: { image_name: 'team/migrate', tag: '2' } },
      schedule: made.schedule,
    });
    const again = await client.call('editJob', { params, body: { port: null, schedule: { on_delete: {} }, healthchecks: {} } });
    expect(again).toMatchObject({ port: null, max_nb_restart: 2, source: edited.source });
    expect(again.schedule).toEqual({ on_delete: { arguments: [] }, lifecycle_type: 'GENERIC' });
    await client.call('deleteJob', { params });
    await expect(client.call('getJob', { params })).rejects.toMatchObject({ status: 404 });
  });

  test('by a schedule has UTC where it names no time zone', async () => {
    const made = await job({
      schedule: { cronjob: { scheduled_at: '*/5 * * * *', entrypoint: '/bin/sh', arguments: ['-c', 'x'] } },
    });
    expect(made).toMatchObject({ job_type: 'CRON', icon_uri: 'app://davit-console/cron-job' });
    expect(made.schedule).toEqual({
      cronjob: { scheduled_at: '*/5 * * * *', timezone: 'Etc/UTC', entrypoint: '/bin/sh', arguments: ['-c', 'x'] },
    });
  });

  test('of a repository shows it, and can be changed to one of an image', async () => {
    const made = await job({ source: { docker: { ...docker, dockerfile_path: 'jobs/Dockerfile' } } });
    expect(made.source).toMatchObject({
      docker: {
        git_repository: { url: docker.git_repository.url, branch: 'main', root_path: '/' },
        dockerfile_path: 'jobs/Dockerfile',
        dockerfile_raw: null,
        docker_target_build_stage: null,
      },
    });
    const edited = await client.call('editJob', { params: { jobId: made.id }, body: { source: { image: image() } } });
    expect(Object.keys(edited.source)).toEqual(['image']);
  });

  test('is used by its registry, and has variables, secrets and built-ins of its own', async () => {
    const made = await job();
    const params = { jobId: made.id };
    await client.call('createJobEnvironmentVariable', { params, body: { key: 'LEVEL', value: 'debug' } });
    await client.call('createJobSecret', { params, body: { key: 'KEY', value: 'sesame' } });
    const { results } = await client.call('listJobEnvironmentVariable', { params });
    const own = results.find(({ key }) => key === 'LEVEL');
    expect(own).toMatchObject({ scope: 'JOB', value: 'debug', service_id: made.id, service_type: 'JOB' });
    const keys = results.map(({ key }) => key);
    expect(keys).toEqual(expect.arrayContaining(['DAVIT_JOB_ID', 'DAVIT_JOB_NAME']));
    expect((await client.call('listJobSecrets', { params })).results).toMatchObject([{ key: 'KEY', scope: 'JOB' }]);
    const ids = { organizationId, containerRegistryId: registryId };
    await expect(client.call('deleteContainerRegistry', { params: ids })).rejects.toMatchObject({ status: 409 });
  });
});

const lifecycle = { on_start: {} };
describe('a job is refused', () => {
  test.each([
    [{ source: {} }, 'source'],
    [{ source: { image: {} } }, 'source.image.image_name'],
    [{ source: { docker: {} } }, 'source.docker.git_repository'],
    [{ source: { docker: { git_repository: { url: 'ftp://x' } } } }, 'source.docker.git_repository.url'],
    [{ source: { docker: { ...docker, dockerfile_path: '../x' } } }, 'source.docker.dockerfile_path'],
    [{ source: { docker: { ...docker, dockerfile_path: 'a', dockerfile_raw: 'FROM a' } } }, 'source.docker.dockerfile_raw'],
    [{ schedule: {} }, 'schedule'],
    [{ schedule: { lifecycle_type: 'GENERIC' } }, 'schedule'],
    [{ schedule: { ...lifecycle, cronjob: { scheduled_at: '* * * * *' } } }, 'schedule'],
    [{ schedule: { cronjob: { scheduled_at: 'every day' } } }, 'schedule.cronjob.scheduled_at'],
    [{ schedule: { cronjob: { scheduled_at: '* * * * * *' } } }, 'schedule.cronjob.scheduled_at'],
    [{ schedule: { cronjob: { scheduled_at: '0 0 31 2 *' } } }, 'schedule.cronjob.scheduled_at'],
    [{ schedule: { cronjob: { scheduled_at: '* * * * *', timezone: 'Mars/Olympus' } } }, 'schedule.cronjob.timezone'],
    [{ schedule: { on_stop: { entrypoint: 'sh "' } } }, 'schedule.on_stop.entrypoint'],
    [{ max_nb_restart: -1 }, 'max_nb_restart'],
    [{ max_duration_seconds: -1 }, 'max_duration_seconds'],
    [{ port: 0 }, 'port'],
    [{ healthchecks: null }, 'healthchecks'],
  ] as const)('with %j, at the place that is wrong', async (body, path) => {
    const call = job(body);
    const { errors } = await call.then(
      () => ({ errors: [] }),
      (error: { status: number; errors: { path: string; message: string }[] }) => {
        expect(error.status).toBe(400);
        return error;
      },
    );
    expect(errors.map((one) => one.path)).toContain(path);
  });

  test('with two sources, with another organization’s registry, and with a taken name', async () => {
    await expect(job({ source: { image: image(), docker } })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'source' }],
    });
    const foreign = { ...image(), registry_id: randomUUID() };
    const refusal = { status: 400, code: 'INVALID_REFERENCE', errors: [{ path: 'source.image.registry_id' }] };
    await expect(job({ source: { image: foreign } })).rejects.toMatchObject(refusal);
    const name = randomUUID();
    await job({ name });
    await expect(job({ name: name.toUpperCase() })).rejects.toMatchObject({ status: 409 });
  });
});

test('a job has deployment restrictions, found under its own type only', async () => {
  const params = { jobId: (await job({ source: { docker } })).id };
  const body = { mode: 'MATCH', type: 'PATH', value: 'jobs' } as const;
  const made = await client.call('createJobDeploymentRestriction', { params, body });
  expect((await client.call('getJobDeploymentRestrictions', { params })).results).toEqual([made]);
  const one = { ...params, deploymentRestrictionId: made.id };
  const edited = await client.call('editJobDeploymentRestriction', { params: one, body: { ...body, mode: 'EXCLUDE' } });
  expect(edited).toMatchObject({ id: made.id, mode: 'EXCLUDE' });
  const foreign = client.call('getApplicationDeploymentRestrictions', { params: { applicationId: params.jobId } });
  await expect(foreign).rejects.toMatchObject({ status: 404 });
  await client.call('deleteJobDeploymentRestriction', { params: one });
  expect((await client.call('getJobDeploymentRestrictions', { params })).results).toEqual([]);
});

describe('deploying a job', () => {
  test('keeps the tag that it names, and refuses a version of the other sort of source', async () => {
    const ofImage = await job();
    const params = { jobId: ofImage.id };
    const status = await client.call('deployJob', { params, body: { image_tag: '9' } });
    expect(status).toMatchObject({ id: ofImage.id, state: 'DEPLOYMENT_QUEUED' });
    expect((await client.call('getJob', { params })).source).toMatchObject({ image: { tag: '9', image_name: 'team/migrate' } });
    const commit = { git_commit_id: 'a'.repeat(40) };
    const refused = (path: string) => ({ status: 400, errors: [{ path }] });
    await expect(client.call('deployJob', { params, body: commit })).rejects.toMatchObject(refused('git_commit_id'));
    const both = { image_tag: '9', ...commit };
    await expect(client.call('deployJob', { params, body: both })).rejects.toMatchObject(refused('git_commit_id'));
    const ofSource = { jobId: (await job({ source: { docker } })).id };
    const tag = client.call('deployJob', { params: ofSource, body: { image_tag: '9' } });
    await expect(tag).rejects.toMatchObject(refused('image_tag'));
    await client.call('deployJob', { params: ofSource, body: commit });
  });

  test('with an event that it does not have deploys nothing and names those that it has', async () => {
    const made = await job({ schedule: { on_start: {}, on_delete: {} } });
    const params = { jobId: made.id };
    for (const operation of ['deployJob', 'redeployJob'] as const) {
      const call = client.call(operation, { params, query: { forceEvent: 'STOP' } });
      await expect(call).rejects.toMatchObject({
        status: 400,
        errors: [{ path: 'forceEvent', message: expect.stringContaining('START, DELETE') }],
      });
    }
    expect((await client.call('getJobStatus', { params })).state).toBe('READY');
    expect((await client.call('listJobDeploymentHistoryV2', { params })).results).toEqual([]);
    await client.call('deployJob', { params, query: { forceEvent: 'DELETE' } });
    expect((await client.call('getJobStatus', { params })).state).toBe('DEPLOYMENT_QUEUED');
  });
});
