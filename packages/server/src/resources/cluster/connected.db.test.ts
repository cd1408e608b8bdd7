import { randomUUID } from 'node:crypto';
import {
  createFakeCluster,
  DriverError,
  type ClusterDriver,
  type ClusterUpgrades,
  type FakeCluster,
  type UpgradeState,
} from '@davit/drivers';
import { createEngine, type ClusterDrivers } from '@davit/engine';
import type { ClusterAccess } from '@davit/engine/port';
import type { Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

/*
 * Tests of self-managed clusters, over an API with an engine that supports them. Each kubeconfig names a fake cluster.
 */

const local = createFakeCluster();
const clusters = new Map<string, FakeCluster>();
const down = new Set<string>();
const missing = new Map<string, readonly string[]>();
const upgrades = new Map<string, UpgradeState>();
let server: TestServer;
let client: Client;

/** Creates a fake cluster for the server that a kubeconfig names. Only the token `good` is accepted. */
function makeCluster({ kubeconfig }: ClusterAccess): ClusterDrivers {
  const text = kubeconfig.reveal();
  const [, name = '', token = ''] = /# (\S+) (\S+)/.exec(text) ?? [];
  if (name === '') throw new DriverError({ cause: 'CLUSTER_ACCESS_DENIED', message: 'the kubeconfig names no cluster' });
  const fake = clusters.get(name) ?? createFakeCluster();
  clusters.set(name, fake);
  fake.script = {
    before: () => {
      if (down.has(name)) throw new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'connection refused' });
      if (token !== 'good') throw new DriverError({ cause: 'CLUSTER_ACCESS_DENIED', message: 'Unauthorized' });
    },
  };
  const own = upgrades.get(name);
  const cluster: ClusterDriver = {
    ...fake.cluster,
    missingPermissions: () => Promise.resolve(missing.get(name) ?? []),
    ...(own !== undefined && { upgrades: upgradesOf(name) }),
  };
  const { builder, gateway, imageStore } = fake;
  return { cluster, builder, gateway, imageStore };
}

/**
 * Returns the upgrade driver of a cluster whose state is in `upgrades`. An upgrade stays in progress until the test
 * changes that.
 */
function upgradesOf(name: string): ClusterUpgrades {
  return {
    state: () => Promise.resolve(upgrades.get(name) ?? notUpgraded),
    begin: (version) => {
      if (version === 'refused') throw new DriverError({ cause: 'CLUSTER_ACCESS_DENIED', message: 'plans is forbidden' });
      upgrades.set(name, { ...notUpgraded, underWay: version });
      return Promise.resolve();
    },
  };
}

const notUpgraded: UpgradeState = { next: null, hindrance: null, underWay: null, failure: null };

beforeAll(async () => {
  server = await startTestServer({
    engine: (parts) => createEngine({ ...parts, drivers: { docker: local }, makeCluster }),
  });
  await server.api.engine.start();
  client = server.client();
});
afterAll(async () => {
  await server.api.engine.stop();
  await server.close();
});

const kubeconfig = (name: string, token = 'good'): string =>
  `apiVersion: v1\nkind: Config # ${name} ${token}\nclusters: []\ncontexts: []\nusers: []\n`;

async function organization() {
  const { id, tokens } = await server.organization();
  return { params: { organizationId: id }, tokens };
}

/** Creates the record of a self-managed cluster. `name` is also the name of the fake cluster. */
async function cluster(params: { organizationId: string }, name = `rack-${randomUUID()}`) {
  const body = { name, region: 'basement', cloud_provider: 'ON_PREMISE' } as const;
  const { id } = await client.call('createCluster', { params, body });
  return { name, ids: { ...params, clusterId: id } };
}

async function connected(params: { organizationId: string }, name?: string) {
  const made = await cluster(params, name);
  await client.call('editClusterKubeconfig', { params: made.ids, body: kubeconfig(made.name) });
  await client.call('deployCluster', { params: made.ids });
  const fake = clusters.get(made.name);
  if (fake === undefined) throw new Error('it was not connected');
  return { ...made, fake };
}

async function environmentOn(params: { organizationId: string }, cluster_id?: string) {
  const project = await client.call('createProject', { params, body: { name: `shop ${randomUUID()}` } });
  const body = { name: 'live', ...(cluster_id !== undefined && { cluster_id }) };
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body });
  const inEnvironment = { environmentId: environment.id };
  const git_repository = { url: 'https://git.example.org/shop/web.git', branch: 'main' };
  const ports = [{ internal_port: 8080, publicly_accessible: true, protocol: 'HTTP' as const }];
  const application = await client.call('createApplication', {
    params: inEnvironment,
    body: { name: 'web', dockerfile_path: 'Dockerfile', git_repository, healthchecks: {}, ports },
  });
  return { inEnvironment, application, inApplication: { applicationId: application.id } };
}

const patience = { timeout: 15_000, interval: 50 };

async function reaches(applicationId: string, state: string): Promise<void> {
  const read = () => client.call('getApplicationStatus', { params: { applicationId } });
  await vi.waitFor(async () => expect((await read()).state).toBe(state), patience);
}

test('a chart keeps any arguments there; with one that no deployment takes, none is queued', async () => {
  const { params } = await organization();
  const { ids } = await connected(params);
  const { inEnvironment } = await environmentOn(params, ids.clusterId);
  const git_repository = { url: 'https://git.example.org/shop/charts.git', branch: 'main' };
  const given = ['--wait', '--kube-token=sesame'];
  const body = { name: 'redis', source: { git_repository }, arguments: given };
  const made = await client.call('createHelm', { params: inEnvironment, body });
  expect(made.arguments).toEqual(given);
  const chart = { helmId: made.id };
  const calls = await Promise.allSettled([
    client.call('deployHelm', { params: chart }),
    client.call('deployHelm', { params: chart, query: { dry_run: true } }),
    client.call('deployEnvironment', { params: inEnvironment }),
    client.call('deployAllServices', { params: inEnvironment, body: { helms: [{ id: made.id }] } }),
  ]);
  const message = expect.stringContaining('redis has the argument --kube-token, which is not accepted: Davit chooses cluster');
  for (const call of calls) {
    expect(call).toMatchObject({ status: 'rejected', reason: { status: 400, code: 'NOT_SUPPORTED', message } });
    expect(String(Object(call).reason)).not.toContain('sesame');
  }
  expect(await client.call('getHelmStatus', { params: chart })).toMatchObject({ state: 'READY' });
});

test('a chart keeps any name of a value; with one that Helm would read further, none is queued', async () => {
  const { params } = await organization();
  const { ids } = await connected(params);
  const { inEnvironment } = await environmentOn(params, ids.clusterId);
  const git_repository = { url: 'https://git.example.org/shop/charts.git', branch: 'main' };
  const set_string = [
    ['image.tag', '7'],
    ['x[0]=/proc/self/environ,y[0]', 'v'],
  ];
  const body = { name: 'redis', source: { git_repository }, values_override: { set_string } };
  const made = await client.call('createHelm', { params: inEnvironment, body });
  expect(made.values_override.set_string).toEqual(set_string);
  const message = expect.stringContaining('redis has a name in values_override.set_string.1 that cannot be passed to Helm');
  await expect(client.call('deployHelm', { params: { helmId: made.id } })).rejects.toMatchObject({
    status: 400,
    code: 'NOT_SUPPORTED',
    message,
  });
});

test('one with a kubeconfig that it takes is deployed, runs environments, and shows what it has', async () => {
  const { params } = await organization();
  const { name, ids } = await cluster(params);
  expect(await client.call('getClusterStatus', { params: ids })).toMatchObject({ status: 'READY', is_deployed: false });
  await expect(client.call('deployCluster', { params: ids })).rejects.toMatchObject({
    status: 409,
    code: 'CLUSTER_NOT_DEPLOYED',
    message: expect.stringContaining(`/organization/${params.organizationId}/cluster/${ids.clusterId}/kubeconfig`),
  });
  await client.call('editClusterKubeconfig', { params: ids, body: kubeconfig(name) });
  expect(await client.call('deployCluster', { params: ids, query: { dry_run: true } })).not.toHaveProperty(
    'last_deployment_date',
  );
  const status = await client.call('deployCluster', { params: ids });
  expect(status).toMatchObject({ status: 'DEPLOYED', is_deployed: true, last_deployment_date: expect.any(String) });
  expect(await client.call('getClusterReadinessStatus', { params: ids })).toEqual({ is_ready: true });
  const log = (await client.call('listClusterLogs', { params: ids })).results;
  expect(log.map(({ step }) => step)).toEqual(['CreateError', 'Created']);
  const [, record] = (await client.call('listOrganizationCluster', { params })).results;
  expect(record).toMatchObject({ status: 'DEPLOYED', deployment_status: 'UP_TO_DATE', version: 'fake 1', cpu: 64_000 });

  const fake = clusters.get(name);
  if (fake !== undefined) fake.capacity = { cpuMillicores: 6_000, memoryMiB: 4_096 };
  const { application, inApplication } = await environmentOn(params, ids.clusterId);
  expect(application).toMatchObject({ maximum_cpu: 64_000 });
  await client.call('deployApplication', { params: inApplication });
  await reaches(application.id, 'DEPLOYED');
  expect(fake?.instances.map(({ service }) => service)).toEqual([application.id]);
  expect(local.instances).toEqual([]);
  const refused = { status: 409, code: 'CLUSTER_KIND_UNSUPPORTED' };
  await expect(client.call('stopCluster', { params: ids })).rejects.toMatchObject(refused);
  await expect(client.call('upgradeCluster', { params: ids })).rejects.toMatchObject(refused);
  const query = { from_date_time: '2026-01-01T00:00:00Z', to_date_time: '2026-01-02T00:00:00Z' };
  const events = client.call('getClusterKubernetesEvents', { params: { clusterId: ids.clusterId }, query });
  await expect(events).rejects.toMatchObject({ ...refused, message: expect.stringContaining('with kubectl') });
});

test('services may not be larger than the cluster of their own environment', async () => {
  const { params } = await organization();
  const name = `small-${randomUUID()}`;
  const small = createFakeCluster();
  small.capacity = { cpuMillicores: 2_000, memoryMiB: 1_024 };
  clusters.set(name, small);
  const { ids } = await connected(params, name);
  const here = await environmentOn(params, ids.clusterId);
  expect(here.application).toMatchObject({ maximum_cpu: 2_000, maximum_memory: 1_024 });
  const body = {
    name: 'web',
    dockerfile_path: 'Dockerfile',
    git_repository: { url: 'https://git.example.org/shop/web.git' },
    memory: 2_048,
    healthchecks: {},
  };
  await expect(client.call('editApplication', { params: here.inApplication, body })).rejects.toMatchObject({
    status: 400,
    errors: [{ path: 'memory' }],
  });
  const elsewhere = await environmentOn(params);
  expect(await client.call('editApplication', { params: elsewhere.inApplication, body })).toMatchObject({ memory: 2_048 });
});

test('one that refuses the credentials says so until it is given others; no restart is needed', async () => {
  const { params } = await organization();
  const { name, ids } = await cluster(params);
  await client.call('editClusterKubeconfig', { params: ids, body: kubeconfig(name, 'old') });
  expect(await client.call('deployCluster', { params: ids })).toMatchObject({
    status: 'INVALID_CREDENTIALS',
    is_deployed: true,
  });
  expect(await client.call('getClusterReadinessStatus', { params: ids })).toEqual({ is_ready: false });
  const { results } = await client.call('listClusterLogs', { params: ids });
  expect(results).toMatchObject([
    { step: 'CreateError', error: { tag: 'CLUSTER_ACCESS_DENIED', hint_message: expect.stringContaining('kubeconfig') } },
  ]);
  await client.call('editClusterKubeconfig', { params: ids, body: kubeconfig(name) });
  const read = () => client.call('getClusterStatus', { params: ids });
  await vi.waitFor(async () => expect(await read()).toMatchObject({ status: 'DEPLOYED' }), patience);
  const broken = await cluster(params);
  const nowhere = 'kind: Config\nclusters: []\ncontexts: []\nusers: []\n';
  await client.call('editClusterKubeconfig', { params: broken.ids, body: nowhere });
  expect(await client.call('deployCluster', { params: broken.ids })).toMatchObject({ status: 'INVALID_CREDENTIALS' });
});

test('one that lacks permissions is not ready, and its log lists them', async () => {
  const { params } = await organization();
  const { name, ids } = await cluster(params);
  missing.set(name, ['create deployments', 'list pods']);
  await client.call('editClusterKubeconfig', { params: ids, body: kubeconfig(name) });
  expect(await client.call('deployCluster', { params: ids })).toMatchObject({ status: 'DEPLOYMENT_ERROR' });
  expect(await client.call('getClusterReadinessStatus', { params: ids })).toEqual({ is_ready: false });
  const { results } = await client.call('listClusterLogs', { params: ids });
  expect(results[0]?.message?.safe_message).toContain('create deployments, list pods');
});

test('one that does not answer says so, and its deployments wait while others go on', async () => {
  const { params } = await organization();
  const { name, ids, fake } = await connected(params);
  const here = await environmentOn(params, ids.clusterId);
  const elsewhere = await environmentOn(params);
  down.add(name);
  await client.call('deployApplication', { params: here.inApplication });
  expect(await client.call('deployCluster', { params: ids })).toMatchObject({ status: 'DEPLOYMENT_ERROR' });
  await client.call('deployApplication', { params: elsewhere.inApplication });
  await reaches(elsewhere.application.id, 'DEPLOYED');
  const { state } = await client.call('getApplicationStatus', { params: here.inApplication });
  expect(['DEPLOYMENT_QUEUED', 'BUILDING', 'DEPLOYING']).toContain(state);
  down.delete(name);
  await reaches(here.application.id, 'DEPLOYED');
  expect(fake.instances).toHaveLength(1);
});

test('a deployment of a cluster is in the audit log; a dry run is not', async () => {
  const { params } = await organization();
  const { ids } = await connected(params);
  await client.call('deployCluster', { params: ids, query: { dry_run: true } });
  const { events } = await client.call('getOrganizationEvents', { params, query: { targetId: ids.clusterId } });
  // Newest first: the deployment, the kubeconfig, the record.
  expect((events ?? []).map(({ event_type }) => event_type)).toEqual(['UPDATE', 'UPDATE', 'CREATE']);
});

test('a locked cluster runs deployments of services, and is not deployed itself', async () => {
  const { params } = await organization();
  const { ids } = await connected(params);
  const { application, inApplication } = await environmentOn(params, ids.clusterId);
  await client.call('lockCluster', { params: ids, body: { reason: 'audit' } });
  await expect(client.call('deployCluster', { params: ids })).rejects.toMatchObject({ code: 'CLUSTER_LOCKED' });
  await client.call('deployApplication', { params: inApplication });
  await reaches(application.id, 'DEPLOYED');
});

test('one that can be upgraded is, and says how far it is', async () => {
  const { params } = await organization();
  const name = `new-${randomUUID()}`;
  upgrades.set(name, { ...notUpgraded, next: '1.36.3+k3s1' });
  const { ids } = await connected(params, name);
  const read = () => client.call('deployCluster', { params: ids, query: { dry_run: true } });
  expect(await read()).toMatchObject({ status: 'DEPLOYED', next_k8s_available_version: '1.36.3+k3s1' });
  const underWay = { status: 'DEPLOYING', next_k8s_available_version: null, is_deployed: true };
  expect(await client.call('upgradeCluster', { params: ids })).toMatchObject(underWay);
  // A repeated call does not interrupt the upgrade.
  expect(await client.call('upgradeCluster', { params: ids })).toMatchObject(underWay);
  expect(await client.call('getClusterReadinessStatus', { params: ids })).toEqual({ is_ready: true });
  upgrades.set(name, { ...notUpgraded, underWay: '1.36.3+k3s1', failure: 'davit-servers: JobFailed: node one' });
  expect(await client.call('deployCluster', { params: ids })).toMatchObject({ status: 'DEPLOYMENT_ERROR' });
  upgrades.set(name, { ...notUpgraded, underWay: '1.36.33+k3s1', failure: 'no such image', next: '1.36.3+k3s1' });
  expect(await client.call('upgradeCluster', { params: ids })).toMatchObject(underWay);
  expect(upgrades.get(name)).toEqual({ ...notUpgraded, underWay: '1.36.3+k3s1' });
  upgrades.set(name, notUpgraded);
  expect(await read()).toMatchObject({ status: 'DEPLOYED', next_k8s_available_version: null });
  const { results } = await client.call('listClusterLogs', { params: ids });
  const words = results.map(({ message }) => message?.safe_message);
  expect(words.slice(1)).toEqual([
    expect.stringContaining('to 1.36.3+k3s1, one node at a time'),
    expect.stringContaining('is stuck: davit-servers: JobFailed: node one'),
    expect.stringContaining('to 1.36.3+k3s1, one node at a time'),
  ]);
  const refused = (message: string) => ({
    status: 409,
    code: 'CLUSTER_KIND_UNSUPPORTED',
    message: expect.stringContaining(message),
  });
  await expect(client.call('upgradeCluster', { params: ids })).rejects.toMatchObject(refused('it has 1 already'));
  upgrades.set(name, { ...notUpgraded, hindrance: 'it has no system-upgrade-controller.' });
  await expect(client.call('upgradeCluster', { params: ids })).rejects.toMatchObject(refused('no system-upgrade-controller'));
  upgrades.set(name, { ...notUpgraded, next: 'refused' });
  const forbidden = { status: 424, code: 'REMOTE_REFUSED', message: expect.stringContaining('plans is forbidden') };
  await expect(client.call('upgradeCluster', { params: ids })).rejects.toMatchObject(forbidden);
  down.add(name);
  const away = { status: 424, code: 'CLUSTER_UNREACHABLE' };
  await expect(client.call('upgradeCluster', { params: ids })).rejects.toMatchObject(away);
});

test('an environment moves to another cluster with its next deployment, and its old cluster can go', async () => {
  const { params } = await organization();
  const [east, west] = [await connected(params), await connected(params)];
  west.fake.capacity = { cpuMillicores: 3_000, memoryMiB: 2_048 };
  await client.call('deployCluster', { params: west.ids });
  const { application, inApplication, inEnvironment } = await environmentOn(params, east.ids.clusterId);
  await client.call('deployApplication', { params: inApplication });
  await reaches(application.id, 'DEPLOYED');
  const edited = await client.call('editEnvironment', { params: inEnvironment, body: { cluster_id: west.ids.clusterId } });
  expect(edited).toMatchObject({ cluster_id: west.ids.clusterId, cluster_name: west.name });
  expect(east.fake.instances).toHaveLength(1);
  const status = await client.call('getApplicationStatus', { params: inApplication });
  expect(status).toMatchObject({ service_deployment_status: 'OUT_OF_DATE' });
  const inUse = { status: 409, code: 'IN_USE', message: expect.stringContaining('remaining volumes') };
  await expect(client.call('deleteCluster', { params: east.ids })).rejects.toMatchObject(inUse);
  await client.call('deployApplication', { params: inApplication });
  await vi.waitFor(() => expect([east.fake.instances.length, west.fake.instances.length]).toEqual([0, 1]), patience);
  await vi.waitFor(() => client.call('deleteCluster', { params: east.ids }), patience);
  await reaches(application.id, 'DEPLOYED');
});

test('a service that is created after its environment has moved runs on the new cluster', async () => {
  const { params } = await organization();
  const [east, west] = [await connected(params), await connected(params)];
  const { inEnvironment } = await environmentOn(params, east.ids.clusterId);
  await client.call('editEnvironment', { params: inEnvironment, body: { cluster_id: west.ids.clusterId } });
  const body = { name: 'later', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
  const { id } = await client.call('createApplication', { params: inEnvironment, body });
  await client.call('deployApplication', { params: { applicationId: id } });
  await reaches(id, 'DEPLOYED');
  expect([east.fake.instances.length, west.fake.instances.length]).toEqual([0, 1]);
});

test('an environment is not moved to where nothing can be deployed', async () => {
  const { params } = await organization();
  const [recorded, foreign] = [await cluster(params), await connected((await organization()).params)];
  const { inEnvironment } = await environmentOn(params);
  const move = (cluster_id: string) => client.call('editEnvironment', { params: inEnvironment, body: { cluster_id } });
  await expect(move(recorded.ids.clusterId)).rejects.toMatchObject({ status: 409, code: 'CLUSTER_NOT_DEPLOYED' });
  const reference = { status: 400, code: 'INVALID_REFERENCE', errors: [{ path: 'cluster_id' }] };
  await expect(move(foreign.ids.clusterId)).rejects.toMatchObject(reference);
  await expect(move(randomUUID())).rejects.toMatchObject(reference);
});

test('volumes that a move left behind keep a cluster, unless Davit is told to forget them', async () => {
  const { params } = await organization();
  const [east, west] = [await connected(params), await connected(params)];
  const { inEnvironment } = await environmentOn(params, east.ids.clusterId);
  const body = { name: 'store', type: 'REDIS', version: '7', mode: 'CONTAINER' } as const;
  const database = await client.call('createDatabase', { params: inEnvironment, body });
  const inDatabase = { databaseId: database.id };
  await client.call('deployDatabase', { params: inDatabase });
  await vi.waitFor(() => expect(east.fake.instances).toHaveLength(1), patience);
  await client.call('editEnvironment', { params: inEnvironment, body: { cluster_id: west.ids.clusterId } });
  await client.call('deployDatabase', { params: inDatabase });
  await vi.waitFor(() => expect([east.fake.instances.length, west.fake.instances.length]).toEqual([0, 1]), patience);
  expect(east.fake.volumes.size).toBe(1);
  await expect(client.call('deleteCluster', { params: east.ids })).rejects.toMatchObject({ status: 409, code: 'IN_USE' });
  await client.call('deleteCluster', { params: east.ids, query: { deleteMode: 'DELETE_SERVICE_CONFIG' } });
  expect(east.fake.volumes.size).toBe(1);
});
