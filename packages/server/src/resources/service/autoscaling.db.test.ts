import { randomUUID } from 'node:crypto';
import { createFakeCluster, type FakeCluster } from '@davit/drivers';
import { createEngine } from '@davit/engine';
import type { CallInput, Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

/* Scaling by events through the API, on an in-memory cluster that its owner manages. */

let server: TestServer;
let client: Client;
let far: FakeCluster;
let projectId: string;
let environmentId: string;

beforeAll(async () => {
  far = createFakeCluster();
  const cluster = { ...far.cluster, scaling: far.scaling.capability };
  const { builder, gateway } = far;
  const drivers = { docker: createFakeCluster() };
  server = await startTestServer({
    engine: (parts) => createEngine({ ...parts, drivers, makeCluster: () => ({ cluster, builder, gateway }) }),
    environment: { DAVIT_METRICS_SECONDS: '1', DAVIT_DRAIN_SECONDS: '1' },
  });
  await server.api.engine.start();
  client = server.client();
  const params = { organizationId: (await server.organization()).id };
  const body = { name: 'rack', region: 'basement', cloud_provider: 'ON_PREMISE' } as const;
  const { id: clusterId } = await client.call('createCluster', { params, body });
  const kubeconfig = 'apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n';
  await client.call('editClusterKubeconfig', { params: { ...params, clusterId }, body: kubeconfig });
  projectId = (await client.call('createProject', { params, body: { name: 'shop' } })).id;
  const live = { name: 'live', cluster_id: clusterId };
  environmentId = (await client.call('createEnvironment', { params: { projectId }, body: live })).id;
});
afterAll(async () => {
  await server.api.engine.stop();
  await server.close();
});
beforeEach(() => {
  far.scaling.lacks = [];
});

type Autoscaling = NonNullable<CallInput<'createApplication'>['body']['autoscaling']>;

const queue: Autoscaling = {
  mode: 'KEDA',
  polling_interval_seconds: 10,
  scalers: [
    {
      scaler_type: 'rabbitmq',
      role: 'PRIMARY',
      config_yaml: 'queueName: orders\nmode: QueueLength\nvalue: 5\n',
      trigger_authentication: { name: 'broker', config_yaml: 'env:\n- parameter: host\n  name: BROKER\n' },
    },
    { scaler_type: 'cpu', role: 'SAFETY', enabled: false, config_json: { value: 60, 'a b': [1].length } },
  ],
};
const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
const at = (applicationId: string) => ({ params: { applicationId } });

async function application(fields: object = {}, into = environmentId) {
  const body = {
    name: `shop ${randomUUID()}`,
    dockerfile_path: 'Dockerfile',
    git_repository,
    healthchecks: {},
    min_running_instances: 0,
    ...fields,
  };
  return client.call('createApplication', { params: { environmentId: into }, body });
}

async function ended(id: string, act: () => Promise<unknown>) {
  const before = (await client.call('getApplicationStatus', at(id))).execution_id;
  await act();
  const isOver = ['DEPLOYED', 'DEPLOYMENT_ERROR', 'BUILD_ERROR', 'STOPPED'];
  await expect
    .poll(async () => (await client.call('getApplicationStatus', at(id))).execution_id, { timeout: 20_000 })
    .not.toBe(before);
  await expect
    .poll(async () => (await client.call('getApplicationStatus', at(id))).state, { timeout: 20_000 })
    .toSatisfy((state: string) => isOver.includes(state));
  return client.call('getApplicationStatus', at(id));
}
const deploy = (id: string, body: { readonly release_id?: string } = {}) =>
  ended(id, () => client.call('deployApplication', { ...at(id), body }));

test('it is stored, answered with ids and defaults, edited and taken away', async () => {
  const { id, autoscaling } = await application({ autoscaling: queue });
  expect(autoscaling).toMatchObject({
    service_id: id,
    mode: 'KEDA',
    polling_interval_seconds: 10,
    cooldown_period_seconds: 300,
    scalers: [
      {
        scaler_type: 'rabbitmq',
        enabled: true,
        role: 'PRIMARY',
        config_json: null,
        config_yaml: queue.scalers[0]?.config_yaml,
        trigger_authentication: { name: 'broker', config_yaml: 'env:\n- parameter: host\n  name: BROKER\n' },
      },
      { scaler_type: 'cpu', enabled: false, role: 'SAFETY', config_json: { value: 60, 'a b': 1 }, config_yaml: null },
    ],
  });
  expect((await client.call('getApplication', at(id))).autoscaling).toEqual(autoscaling);
  const edit = (body: object) => client.call('editApplication', { ...at(id), body: { healthchecks: {}, ...body } });
  expect((await edit({ description: 'other' })).autoscaling).toEqual(autoscaling);
  const edited = (await edit({ autoscaling: { ...queue, scalers: queue.scalers.slice(0, 1) } })).autoscaling;
  expect(edited?.scalers).toEqual(autoscaling?.scalers.slice(0, 1));
  expect(edited?.id).toBe(autoscaling?.id);
  expect(await edit({ autoscaling: null })).not.toHaveProperty('autoscaling');
});

test('containers have it as well', async () => {
  const { organization } = await client.call('getEnvironment', { params: { environmentId } });
  const params = { organizationId: organization.id };
  const registry = { name: 'hub', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} } as const;
  const { id: registry_id } = await client.call('createContainerRegistry', { params, body: registry });
  const body = { name: 'worker', registry_id, image_name: 'worker', tag: '1', healthchecks: {}, autoscaling: queue };
  const made = await client.call('createContainer', { params: { environmentId }, body });
  expect(made.autoscaling).toMatchObject({ service_id: made.id, scalers: [{ scaler_type: 'rabbitmq' }, { enabled: false }] });
});

test('what is wrong is refused with its place, and on this machine’s engine all of it, with what to do', async () => {
  const scaler = { scaler_type: 'cron', role: 'PRIMARY', config_yaml: 'a: 1' };
  await expect(application({ autoscaling: { mode: 'KEDA', scalers: [] } })).rejects.toMatchObject({ status: 400 });
  await expect(application({ autoscaling: { mode: 'OTHER', scalers: [scaler] } })).rejects.toMatchObject({ status: 400 });
  const both = { ...scaler, config_json: {} };
  const authentication = { name: 'a', config_yaml: 'podIdentity: {provider: aws}' };
  const outside = { ...scaler, trigger_authentication: authentication };
  await expect(application({ autoscaling: { mode: 'KEDA', scalers: [both, outside] } })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [
      { path: 'autoscaling.scalers.0.config_yaml', message: expect.stringContaining('exactly one') },
      {
        path: 'autoscaling.scalers.1.trigger_authentication.config_yaml',
        message: expect.stringContaining('podIdentity is not offered'),
      },
    ],
  });
  const { id } = await client.call('createEnvironment', { params: { projectId }, body: { name: 'near' } });
  await expect(application({ autoscaling: queue }, id)).rejects.toMatchObject({
    errors: [{ path: 'autoscaling', message: expect.stringContaining('needs a Kubernetes cluster with KEDA. Leave it out') }],
  });
});

test('a copy has the same with ids of its own', async () => {
  const { id, autoscaling } = await application({ autoscaling: queue });
  const body = { name: `copy ${randomUUID()}`, environment_id: environmentId };
  const copy = await client.call('cloneApplication', { ...at(id), body });
  const found = (await client.call('getApplication', at(copy.id))).autoscaling;
  const ids = (all: typeof found) => [
    all?.id,
    ...(all?.scalers.flatMap((one) => [one.id, one.trigger_authentication?.id]) ?? []),
  ];
  const config = (all: typeof found) => all?.scalers.map((one) => [one.scaler_type, one.config_json, one.config_yaml, one.role]);
  expect(config(found)).toEqual(config(autoscaling));
  expect(found?.service_id).toBe(copy.id);
  expect(ids(found).filter((one) => one !== undefined && ids(autoscaling).includes(one))).toEqual([]);
});

test('it is part of what is deployed: a change makes the service out of date, a rollback brings it back', async () => {
  const { id } = await application({ autoscaling: queue, max_running_instances: 3 });
  await client.call('createApplicationSecret', { ...at(id), body: { key: 'BROKER', value: 'amqp://canary' } });
  const first = await deploy(id);
  expect(first).toMatchObject({ state: 'DEPLOYED', failure: null });
  const reported = () => far.scaling.services.get(id)?.scaled;
  expect(reported()).toMatchObject({
    min: 0,
    max: 3,
    by: {
      type: 'EVENTS',
      pollingSeconds: 10,
      cooldownSeconds: 300,
      triggers: [
        {
          type: 'rabbitmq',
          metadata: { queueName: 'orders', mode: 'QueueLength', value: '5' },
          authentication: { name: 'broker', env: [{ parameter: 'host', name: 'BROKER' }] },
        },
      ],
    },
    variables: expect.arrayContaining(['BROKER']),
  });
  expect(JSON.stringify(reported())).not.toContain('canary');
  const body = { healthchecks: {}, autoscaling: { ...queue, polling_interval_seconds: 60 } };
  await client.call('editApplication', { ...at(id), body });
  expect((await client.call('getApplicationStatus', at(id))).service_deployment_status).toBe('OUT_OF_DATE');
  await deploy(id);
  expect(reported()?.by).toMatchObject({ pollingSeconds: 60 });
  expect((await client.call('getApplicationStatus', at(id))).service_deployment_status).toBe('UP_TO_DATE');
  await deploy(id, { release_id: first.release_id ?? '' });
  expect(reported()?.by).toMatchObject({ pollingSeconds: 10 });
  await ended(id, () => client.call('stopApplication', at(id)));
  expect(reported()).toBeUndefined();
});

test('on a cluster without KEDA the deployment fails before anything is touched, and says what is missing', async () => {
  const { id } = await application({ autoscaling: queue });
  far.scaling.lacks = ['KEDA (keda.sh/v1alpha1)'];
  const seen = far.calls.length;
  const { failure, state } = await deploy(id);
  expect(state).toMatch(/ERROR$/);
  expect(failure).toMatchObject({
    code: 'AUTOSCALING_UNAVAILABLE',
    message: expect.stringContaining('lacks KEDA (keda.sh/v1alpha1)'),
    hint: expect.stringContaining('docs/scaling.md'),
  });
  const calls = far.calls.slice(seen).map(({ method }) => method);
  for (const touching of ['build', 'start', 'scale']) expect(calls).not.toContain(touching);
});
