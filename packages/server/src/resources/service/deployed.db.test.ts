import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: RunningServer;
let api: Client;
let environmentId: string;
let organizationId: string;

const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };

beforeAll(async () => {
  server = await startRunningServer();
  ({ organizationId, environmentId, api } = await makeTestEnvironment(server));
});

afterAll(() => server.close());

const at = (applicationId: string): { params: { applicationId: string } } => ({ params: { applicationId } });

async function newApplication(body: object = {}): Promise<string> {
  const ports = [{ internal_port: 80, publicly_accessible: true }];
  const request = { name: `shop ${randomUUID()}`, dockerfile_path: 'Dockerfile', git_repository, ports, ...body };
  return (await api.call('createApplication', { params: { environmentId }, body: request })).id;
}

type Status = Awaited<ReturnType<typeof status>>;

function status(id: string): ReturnType<typeof read> {
  return read(id);
}

function read(id: string) {
  return api.call('getApplicationStatus', at(id));
}

/** Waits until no deployment runs or is queued. Returns the status. */
async function settled(id: string): Promise<Status> {
  return eventually(async () => {
    const found = await status(id);
    const { status: word } = found.status_details;
    return word === 'QUEUED' || word === 'ONGOING' || word === 'CANCELING' ? undefined : found;
  });
}

async function eventually<T>(condition: () => Promise<T | undefined>): Promise<T> {
  const until = Date.now() + 15_000;
  for (;;) {
    const found = await condition();
    if (found !== undefined) return found;
    if (Date.now() > until) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Returns the environment with which the newest instance of a service was started. */
function started(id: string): Record<string, string> {
  const instance = server.fake.instances.filter(({ service }) => service === id).at(-1);
  const workload = instance === undefined ? undefined : server.fake.workloads.get(instance.id);
  return Object.fromEntries((workload?.environment ?? []).map(({ name, value }) => [name, value.reveal()]));
}

test('what is configured runs, what is edited is out of date until it is deployed', async () => {
  const id = await newApplication();
  await api.call('createApplicationEnvironmentVariable', {
    ...at(id),
    body: { key: 'GREETING', value: 'hello $HOME "{{DAVIT_ENVIRONMENT_NAME}}"' },
  });
  await api.call('createApplicationSecret', { ...at(id), body: { key: 'URL', value: 'db://{{GREETING}}' } });
  await api.call('deployApplication', at(id));
  const deployed = await settled(id);
  expect(deployed).toMatchObject({
    state: 'DEPLOYED',
    service_deployment_status: 'UP_TO_DATE',
    is_part_last_deployment: true,
    failure: null,
  });
  expect(deployed.steps?.details.map(({ step_name }) => step_name)).toContain('DEPLOYMENT');
  expect(started(id)).toMatchObject({ GREETING: 'hello $HOME "live"', URL: 'db://hello $HOME "live"', DAVIT_APPLICATION_ID: id });
  const commit =
    server.fake.branches.get(`${git_repository.url}#main`) ??
    (await api.call('getApplication', at(id))).git_repository?.deployed_commit_id;
  expect(Object.entries(started(id)).find(([key]) => key.endsWith('GIT_COMMIT_ID'))?.[1]).toBe(commit);

  const { results } = await api.call('listApplicationEnvironmentVariable', at(id));
  expect(results.find(({ key }) => key.endsWith('GIT_COMMIT_ID'))?.value).toBe(commit);
  await api.call('editApplication', { ...at(id), body: { description: 'only words' } });
  expect(await status(id)).toMatchObject({ service_deployment_status: 'UP_TO_DATE' });
  await api.call('editApplication', { ...at(id), body: { memory: 600 } });
  expect(await status(id)).toMatchObject({ state: 'DEPLOYED', service_deployment_status: 'OUT_OF_DATE' });
  const outdated = await api.call('listApplication', { params: { environmentId }, query: { toUpdate: true } });
  expect(outdated.results.map((one) => one.id)).toEqual([id]);
  const plan = await api.call('redeployApplication', { ...at(id), query: { dry_run: true } });
  expect(plan.plan?.stages[0]?.services[0]?.changes).toEqual(['memory']);

  await api.call('redeployApplication', at(id));
  expect(await settled(id)).toMatchObject({ state: 'DEPLOYED', service_deployment_status: 'UP_TO_DATE' });
  await api.call('editApplication', { ...at(id), body: { memory: 512 } });
  await api.call('editApplication', { ...at(id), body: { memory: 600 } });
  expect(await status(id)).toMatchObject({ service_deployment_status: 'UP_TO_DATE' });
});

test('a rollback runs the release of before, and the configuration of now is out of date then', async () => {
  const id = await newApplication();
  const variable = await api.call('createApplicationEnvironmentVariable', { ...at(id), body: { key: 'VERSION', value: 'one' } });
  const deployVersion = async (value: string): Promise<Status> => {
    const params = { applicationId: id, environmentVariableId: variable.id };
    await api.call('editApplicationEnvironmentVariable', { params, body: { key: 'VERSION', value } });
    await api.call('deployApplication', at(id));
    return settled(id);
  };
  const first = await deployVersion('one');
  for (const value of ['two', 'three', 'four']) await deployVersion(value);
  await api.call('deployApplication', { ...at(id), body: { release_id: first.release_id ?? '' } });
  expect(await settled(id)).toMatchObject({
    state: 'DEPLOYED',
    release_id: first.release_id,
    service_deployment_status: 'OUT_OF_DATE',
  });
  expect(started(id)['VERSION']).toBe('one');
  const { results, page_size } = await api.call('listApplicationDeploymentHistoryV2', { ...at(id), query: { pageSize: 2 } });
  expect([results.length, page_size]).toEqual([2, 2]);
  expect(results[0]).toMatchObject({ status: 'DEPLOYED', release_id: first.release_id, identifier: { service_id: id } });
  expect(results[0]?.total_duration).toMatch(/^PT/);

  const other = await newApplication();
  const call = api.call('deployApplication', { ...at(other), body: { release_id: first.release_id ?? '' } });
  await expect(call).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
});

test('a plan of another tag shows the change; the older history of a container has what ran, newest first', async () => {
  const registry = { name: randomUUID(), kind: 'GENERIC_CR' as const, url: 'https://registry.example.org/team', config: {} };
  const registry_id = (await api.call('createContainerRegistry', { params: { organizationId }, body: registry })).id;
  const image = { registry_id, image_name: 'cache', tag: '7', entrypoint: "run 'a b'", arguments: ['--x'] };
  const made = await api.call('createContainer', { params: { environmentId }, body: { name: randomUUID(), ...image } });
  const params = { containerId: made.id };
  for (const image_tag of ['8', '9']) {
    await api.call('deployContainer', { params, body: { image_tag } });
    await eventually(async () => ((await api.call('getContainerStatus', { params })).state === 'DEPLOYED' ? true : undefined));
  }
  const dry = { params, body: { image_tag: '10' }, query: { dry_run: true } };
  const { plan, service_deployment_status } = await api.call('deployContainer', dry);
  expect(plan?.stages[0]?.services[0]?.changes).toEqual(['source.tag']);
  expect(service_deployment_status).toBe('UP_TO_DATE');
  expect((await api.call('getContainer', { params })).tag).toBe('9');
  const { results, ...page } = await api.call('listContainerDeploymentHistory', { params });
  const ran = { image_name: 'registry.example.org/team/cache', entrypoint: "run 'a b'", arguments: ['--x'] };
  expect(page).toEqual({ page: 1, page_size: 20 });
  expect(results).toMatchObject([
    { name: made.name, status: 'DEPLOYED', tag: '9', ...ran },
    { name: made.name, status: 'DEPLOYED', tag: '8', ...ran },
  ]);
  const query = { startId: results[0]?.id ?? '' };
  expect((await api.call('listContainerDeploymentHistory', { params, query })).results).toEqual([results[1]]);
  const elsewhere = { startId: randomUUID() };
  expect((await api.call('listContainerDeploymentHistory', { params, query: elsewhere })).results).toEqual([]);
});

test('a failed deployment says why and leaves the service out of date', async () => {
  const id = await newApplication();
  server.fake.script = {
    before: (call) => {
      if (call.service === id && call.method === 'build') throw new Error('the build breaks');
    },
  };
  await api.call('deployApplication', at(id));
  const failed = await settled(id);
  server.fake.script = {};
  expect(failed.state).toMatch(/_ERROR$/);
  expect(failed).toMatchObject({ service_deployment_status: 'OUT_OF_DATE', release_id: null });
  expect(failed.failure?.link).toContain(failed.failure?.code.toLowerCase());
});

test('a service is stopped, started, restarted, uninstalled and deleted, and its volumes stay until it is gone', async () => {
  const id = await newApplication({ storage: [{ type: 'FAST_SSD', size: 1, mount_point: '/data' }] });
  await api.call('deployApplication', at(id));
  await settled(id);
  const volume = (await api.call('getApplication', at(id))).storage[0]?.id ?? '';
  await api.call('rebootApplication', at(id));
  expect(await settled(id)).toMatchObject({ state: 'RESTARTED' });
  await api.call('stopApplication', at(id));
  expect(await settled(id)).toMatchObject({ state: 'STOPPED', service_deployment_status: 'UP_TO_DATE' });
  expect([...server.fake.volumes].some((name) => name.includes(volume))).toBe(true);
  await api.call('uninstallApplication', at(id));
  expect(await settled(id)).toMatchObject({ state: 'READY', service_deployment_status: 'NEVER_DEPLOYED' });
  expect((await api.call('getApplication', at(id))).git_repository).not.toHaveProperty('deployed_commit_id');
  expect(await api.call('uninstallApplication', at(id))).toBeUndefined();
  await api.call('deployApplication', at(id));
  await settled(id);
  await api.call('deleteApplication', at(id));
  await eventually(() =>
    api.call('getApplication', at(id)).then(
      () => undefined,
      () => true,
    ),
  );
  expect(server.fake.instances.filter(({ service }) => service === id)).toEqual([]);
  expect([...server.fake.volumes].some((name) => name.includes(volume))).toBe(false);
});
