import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: RunningServer;
let api: Client;
let projectId: string;
let registryId: string;

beforeAll(async () => {
  server = await startRunningServer();
  const organization = await server.organization();
  api = server.client(organization.tokens.WRITE);
  const params = { organizationId: organization.id };
  projectId = (await api.call('createProject', { params, body: { name: 'shop' } })).id;
  const registry = { name: 'shared', kind: 'GENERIC_CR' as const, url: 'https://registry.example.org', config: {} };
  registryId = (await api.call('createContainerRegistry', { params, body: registry })).id;
});
afterAll(() => server.close());

interface SelectionFixture {
  readonly at: { readonly params: { readonly environmentId: string } };
  readonly web: string;
  readonly api: string;
  readonly other: string;
}

/** Creates an environment with three applications. */
async function fixture(): Promise<SelectionFixture> {
  const { id } = await api.call('createEnvironment', { params: { projectId }, body: { name: `e ${randomUUID()}` } });
  const at = { params: { environmentId: id } };
  const make = async (name: string): Promise<string> => {
    const body = {
      name,
      dockerfile_path: 'Dockerfile',
      git_repository: { url: `https://git.example.org/acme/${name}.git`, branch: 'main' },
    };
    return (await api.call('createApplication', { ...at, body })).id;
  };
  return { at, web: await make('web'), api: await make('api'), other: await make('other') };
}

async function states(at: SelectionFixture['at']): Promise<Record<string, string>> {
  const { applications } = await api.call('getEnvironmentStatuses', at);
  return Object.fromEntries(applications.map(({ id, state }) => [id, state]));
}

/** Waits until the environment has no running or waiting deployment. */
async function settled(at: SelectionFixture['at']): Promise<Awaited<ReturnType<typeof history>>> {
  const until = Date.now() + 15_000;
  for (;;) {
    const queue = await api.call('listDeploymentRequestByEnvironmentId', at);
    const done = await history(at);
    if (queue.results.length === 0 && done[0]?.action_status !== 'ONGOING') return done;
    if (Date.now() > until) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function history(at: SelectionFixture['at']) {
  return (await api.call('listEnvironmentDeploymentHistoryV2', at)).results;
}

const application = (id: string) => ({ params: { applicationId: id } });

test('several services are deployed, stopped, restarted and taken off in one deployment each', async () => {
  const it = await fixture();
  const commit = 'a'.repeat(40);
  const body = {
    applications: [{ application_id: it.web, git_commit_id: commit.toUpperCase() }, { application_id: it.api.toUpperCase() }],
  };
  expect(await api.call('deployAllServices', { ...it.at, body })).toMatchObject({ id: it.at.params.environmentId });
  const [deployed, ...none] = await settled(it.at);
  expect(none).toEqual([]);
  expect(deployed).toMatchObject({ trigger_action: 'DEPLOY', action_status: 'SUCCESS' });
  expect(deployed?.stages.flatMap(({ services }) => services.map(({ identifier }) => identifier.service_id))).toEqual([
    it.web,
    it.api,
  ]);
  expect(await states(it.at)).toEqual({ [it.web]: 'DEPLOYED', [it.api]: 'DEPLOYED', [it.other]: 'READY' });
  expect((await api.call('getApplication', application(it.web))).git_repository?.deployed_commit_id).toBe(commit);

  const restart = await api.call('rebootServices', { ...it.at, body: { application_ids: [it.api, it.web, it.api] } });
  expect(restart).toMatchObject({ status_details: { action: 'RESTART' }, service_deployment_status: expect.any(String) });
  expect((await settled(it.at))[0]).toMatchObject({ trigger_action: 'RESTART', action_status: 'SUCCESS' });

  expect(await api.call('stopSelectedServices', { ...it.at, body: { application_ids: [it.web] } })).toBeUndefined();
  await settled(it.at);
  expect(await states(it.at)).toEqual({ [it.web]: 'STOPPED', [it.api]: 'RESTARTED', [it.other]: 'READY' });

  await api.call('uninstallSelectedServices', { ...it.at, body: { application_ids: [it.api, it.other] } });
  const [uninstalled] = await settled(it.at);
  expect(uninstalled).toMatchObject({ trigger_action: 'UNINSTALL', stages: [{ services: [{ identifier: { name: 'api' } }] }] });
  expect(await states(it.at)).toMatchObject({ [it.api]: 'READY' });

  await api.call('deleteSelectedServices', { ...it.at, body: { application_ids: [it.web, it.other] } });
  await settled(it.at);
  expect((await api.call('listServicesByEnvironmentId', it.at)).results.map(({ id }) => id)).toEqual([it.api]);
});

test('each answer names the request that it queued, also while others wait', async () => {
  const it = await fixture();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  server.fake.script = { before: ({ method }) => (method === 'start' ? held : undefined) };
  const deploy = async (id: string): Promise<string | null | undefined> => {
    const body = { applications: [{ application_id: id }] };
    return (await api.call('deployAllServices', { ...it.at, body })).deployment_request_id;
  };
  const ids = [await deploy(it.web)];
  await expect.poll(async () => (await history(it.at))[0]?.action_status).toBe('ONGOING');
  ids.push(await deploy(it.api), (await api.call('deployApplication', application(it.other))).deployment_request_id);
  const waiting = (await api.call('listDeploymentRequestByEnvironmentId', it.at)).results;
  expect(waiting.map(({ identifier }) => identifier.deployment_request_id)).toEqual([...new Set(ids.slice(1))]);
  release();
  server.fake.script = {};
  await settled(it.at);
  for (const id of ids) {
    const status = await api.call('getDeploymentStatusByDeploymentRequestId', { query: { deploymentRequestId: id ?? '' } });
    const execution_id = expect.stringContaining(it.at.params.environmentId);
    expect(status).toMatchObject({ status: 'DEPLOYED', execution_id });
  }
});

test('containers go with applications, at the tag that is wished and kept', async () => {
  const it = await fixture();
  const make = async (name: string): Promise<string> => {
    const body = { name, registry_id: registryId, image_name: name, tag: '7', healthchecks: {} };
    return (await api.call('createContainer', { ...it.at, body })).id;
  };
  const [cache, proxy] = [await make('cache'), await make('proxy')];
  const body = { applications: [{ application_id: it.web }], containers: [{ id: cache, image_tag: '8' }, { id: proxy }] };
  await api.call('deployAllServices', { ...it.at, body });
  const [deployed] = await settled(it.at);
  expect(deployed).toMatchObject({ action_status: 'SUCCESS' });
  expect(
    server.fake.calls
      .filter(({ method }) => method === 'pull')
      .map(({ detail }) => detail)
      .toSorted(),
  ).toEqual(['registry.example.org/cache:8', 'registry.example.org/proxy:7']);
  expect(await api.call('getContainer', { params: { containerId: cache } })).toMatchObject({ tag: '8' });
  const refused = api.call('deployAllServices', {
    ...it.at,
    body: { containers: [{ id: proxy }, { id: cache, image_tag: '-' }] },
  });
  await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ path: 'containers.1.image_tag' }] });
});

test('a version that does not fit a job is refused at its place', async () => {
  const it = await fixture();
  const image = { registry_id: registryId, image_name: 'migrate', tag: '7' };
  const body = { name: 'migrate', healthchecks: {}, source: { image }, schedule: { on_start: {} } };
  const { id } = await api.call('createJob', { ...it.at, body });
  const refused = api.call('deployAllServices', { ...it.at, body: { jobs: [{ id, git_commit_id: 'abcdef1' }] } });
  await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ path: 'jobs.0.git_commit_id' }] });
  expect(await settled(it.at)).toEqual([]);
});

test('one wrong id refuses all, and says where it is', async () => {
  const it = await fixture();
  const elsewhere = await fixture();
  const nobody = randomUUID();
  const web = { application_id: it.web };
  const cases: readonly (readonly [object, string])[] = [
    [{ applications: [web, { application_id: nobody }] }, 'applications.1.application_id'],
    [{ applications: [web, { application_id: elsewhere.web }] }, 'applications.1.application_id'],
    [{ applications: [web], databases: [nobody] }, 'databases.0'],
    [{ applications: [web], containers: [{ id: it.api }] }, 'containers.0.id'],
    [{ applications: [web], jobs: [{ id: nobody }] }, 'jobs.0.id'],
    [{ applications: [web], helms: [{ id: nobody }] }, 'helms.0.id'],
    [{ applications: [web], terraforms: [{ id: nobody }] }, 'terraforms.0.id'],
  ];
  for (const [body, path] of cases) {
    const refused = api.call('deployAllServices', { ...it.at, body });
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'INVALID_REFERENCE', errors: [{ path }] });
  }
  for (const name of ['stopSelectedServices', 'deleteSelectedServices', 'uninstallSelectedServices', 'rebootServices'] as const) {
    const refused = api.call(name, { ...it.at, body: { application_ids: [it.web, nobody] } });
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_REFERENCE', errors: [{ path: 'application_ids.1' }] });
  }
  expect(await settled(it.at)).toEqual([]);
  expect(await states(it.at)).toEqual({ [it.web]: 'READY', [it.api]: 'READY', [it.other]: 'READY' });
});

test('a request that names nothing, a service twice, or a version that cannot be chosen is refused', async () => {
  const it = await fixture();
  const web = { application_id: it.web };
  const refusals: readonly (readonly [object, string])[] = [
    [{}, ''],
    [{ applications: [], databases: null }, ''],
    [{ applications: [web, web] }, 'applications.1.application_id'],
    [{ applications: [{ ...web, git_commit_id: 'main' }] }, 'applications.0.git_commit_id'],
    [{ containers: [{ id: it.web, image_tag: '-' }] }, 'containers.0.image_tag'],
    [{ jobs: [{}] }, 'jobs.0.id'],
  ];
  for (const [body, path] of refusals) {
    const refused = api.call('deployAllServices', { ...it.at, body });
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'VALIDATION_FAILED', errors: [{ path }] });
  }
  const refused = api.call('stopSelectedServices', { ...it.at, body: {} });
  await expect(refused).rejects.toMatchObject({ status: 400, message: expect.stringContaining('name at least one') });
});

test('what never ran cannot be stopped, and a skipped service is not for actions on several', async () => {
  const it = await fixture();
  const stop = api.call('stopSelectedServices', { ...it.at, body: { application_ids: [it.web] } });
  await expect(stop).rejects.toMatchObject({ status: 409, code: 'NEVER_DEPLOYED' });
  const stage = await api.call('getServiceDeploymentStage', { params: { serviceId: it.web } });
  const attach = { params: { deploymentStageId: stage.id, serviceId: it.web }, body: { is_skipped: true } };
  await api.call('attachServiceToDeploymentStage', attach);
  const body = { applications: [{ application_id: it.api }, { application_id: it.web }] };
  const refused = api.call('deployAllServices', { ...it.at, body });
  await expect(refused).rejects.toMatchObject({ errors: [{ path: 'applications.1.application_id' }] });
  await api.call('deleteSelectedServices', { ...it.at, body: { application_ids: [it.web] } });
  expect(Object.keys(await states(it.at))).toEqual([it.api, it.other]);
});

test('an environment is uninstalled with its skipped services, and asks for nothing when there is nothing', async () => {
  const it = await fixture();
  expect(await api.call('uninstallEnvironment', it.at)).toEqual({});
  expect(await settled(it.at)).toEqual([]);
  await api.call('deployApplication', application(it.web));
  await settled(it.at);
  const stage = await api.call('getServiceDeploymentStage', { params: { serviceId: it.web } });
  const attach = { params: { deploymentStageId: stage.id, serviceId: it.web }, body: { is_skipped: true } };
  await api.call('attachServiceToDeploymentStage', attach);
  await api.call('uninstallEnvironment', it.at);
  expect((await settled(it.at))[0]).toMatchObject({ trigger_action: 'UNINSTALL', action_status: 'SUCCESS' });
  expect(await states(it.at)).toEqual({ [it.web]: 'READY', [it.api]: 'READY', [it.other]: 'READY' });
  expect(server.fake.instances.filter(({ service }) => service === it.web)).toEqual([]);
});

test('the older history goes on after a deployment, and the older log ends in its word', async () => {
  const it = await fixture();
  for (let count = 0; count < 3; count += 1) {
    await api.call('deployApplication', application(it.web));
    await settled(it.at);
  }
  const { results, page, page_size } = await api.call('listEnvironmentDeploymentHistory', it.at);
  expect({ page, page_size, count: results.length }).toEqual({ page: 1, page_size: 20, count: 3 });
  expect(results[0]).toMatchObject({ status: 'DEPLOYED', origin: 'API', databases: [] });
  expect(results[0]?.applications).toMatchObject([
    { id: it.web, name: 'web', status: 'DEPLOYED', commit: { git_commit_id: expect.stringMatching(/^[0-9a-f]{40}$/) } },
  ]);
  const startId = results[0]?.id ?? '';
  const rest = await api.call('listEnvironmentDeploymentHistory', { ...it.at, query: { startId } });
  expect(rest.results).toEqual(results.slice(1));
  const own = await api.call('listApplicationDeploymentHistory', application(it.web));
  expect(own.results.map(({ id, status }) => [id, status])).toEqual(results.map(({ id }) => [id, 'SUCCESS']));
  const ownRest = await api.call('listApplicationDeploymentHistory', { ...application(it.web), query: { startId } });
  expect(ownRest.results).toEqual(own.results.slice(1));
  const foreign = await api.call('listApplicationDeploymentHistory', { ...application(it.api), query: { startId } });
  expect(foreign.results).toEqual([]);

  const log = await api.call('listEnvironmentLog', it.at);
  expect(log.results.length).toBeGreaterThan(1);
  expect(new Set(log.results.map(({ id }) => id)).size).toBe(log.results.length);
  expect(log.results[0]).toMatchObject({ state: 'DEPLOYMENT_IN_PROGRESS', scope: { type: expect.any(String) } });
  expect(log.results.at(-1)).toMatchObject({ state: 'DEPLOYED' });
  const stages = await api.call('getEnvironmentStatusesWithStages', it.at);
  expect(stages.stages[3]?.stage).toMatchObject({
    status: 'DONE',
    steps: { details: [{ step_name: 'TOTAL', status: 'SUCCESS' }] },
  });
});
