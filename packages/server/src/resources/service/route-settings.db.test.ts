import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFakeCluster, type FakeCluster } from '@davit/drivers';
import { createEngine } from '@davit/engine';
import type { Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

/* Settings of routes through the API, on an in-memory cluster with an ingress controller of its own. */

const folder = mkdtempSync(join(tmpdir(), 'davit-routes-'));
let first: TestServer;
let server: TestServer;
let client: Client;
let far: FakeCluster;
let hidden: FakeCluster;
let near: FakeCluster;
let projectId: string;
/** A cluster whose operator has configured the address of its controller. */
let clusterId: string;
/** A cluster whose services are unreachable from outside. */
let hiddenId: string;

beforeAll(async () => {
  first = await startTestServer();
  const params = { organizationId: (await first.organization()).id };
  const kubeconfig = 'apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n';
  const make = async (name: string): Promise<string> => {
    const body = { name, region: 'basement', cloud_provider: 'ON_PREMISE' } as const;
    const { id } = await first.client().call('createCluster', { params, body });
    await first.client().call('editClusterKubeconfig', { params: { ...params, clusterId: id }, body: kubeconfig });
    return id;
  };
  [clusterId, hiddenId] = [await make('rack'), await make('cellar')];
  const file = join(folder, 'clusters.json');
  writeFileSync(file, JSON.stringify({ [clusterId]: { address: 'https://apps.example.org' } }));
  [far, hidden, near] = [createFakeCluster(), createFakeCluster(), createFakeCluster()];
  const routes = { apply: async () => [], remove: async () => undefined };
  const drivers = { docker: near };
  const makeCluster = ({ id }: { readonly id: string }) => {
    const { cluster, builder } = id === clusterId ? far : hidden;
    return { cluster: { ...cluster, routes }, builder };
  };
  server = await startTestServer({
    beside: first,
    engine: (parts) => createEngine({ ...parts, drivers, makeCluster }),
    environment: { DAVIT_DRAIN_SECONDS: '1', DAVIT_CLUSTER_SETTINGS: file },
  });
  await server.api.engine.start();
  client = server.client();
  projectId = (await client.call('createProject', { params, body: { name: 'shop' } })).id;
});
afterAll(async () => {
  await server.api.engine.stop();
  await server.close();
  await first.close();
  rmSync(folder, { recursive: true, force: true });
});

const whitelist = 'network.ingress.whitelist_source_range';
const denylist = 'network.ingress.denylist_source_range';
const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
const at = (applicationId: string) => ({ params: { applicationId } });

const environment = async (location: object): Promise<string> =>
  (await client.call('createEnvironment', { params: { projectId }, body: { name: `live ${randomUUID()}`, ...location } })).id;

async function application(environmentId: string, settings: object, publicly_accessible = true): Promise<string> {
  const ports = [{ internal_port: 3000, publicly_accessible }];
  const body = { name: 'shop', dockerfile_path: 'Dockerfile', git_repository, healthchecks: {}, ports };
  const { id } = await client.call('createApplication', { params: { environmentId }, body });
  await client.call('editAdvancedSettings', { ...at(id), body: settings });
  return id;
}

async function ended(id: string, act: () => Promise<unknown>) {
  const before = (await client.call('getApplicationStatus', at(id))).execution_id;
  await act();
  const isOver = ['DEPLOYED', 'DEPLOYMENT_ERROR', 'BUILD_ERROR'];
  const status = () => client.call('getApplicationStatus', at(id));
  await expect.poll(async () => (await status()).execution_id).not.toBe(before);
  await expect.poll(async () => (await status()).state).toSatisfy((state: string) => isOver.includes(state));
  return status();
}

test('a deployment that restricts who is served is refused where nobody would hold to it, alone and with its environment', async () => {
  const environmentId = await environment({ cluster_id: clusterId });
  const id = await application(environmentId, { [whitelist]: '10.0.0.0/8', [denylist]: '10.0.0.1' });
  const refusal = {
    status: 409,
    code: 'CLUSTER_KIND_UNSUPPORTED',
    message: expect.stringMatching(/^shop restricts .*whitelist_source_range and .*denylist_source_range.*scope INGRESS/),
  };
  const calls = await Promise.allSettled([
    client.call('deployApplication', { ...at(id), body: {} }),
    client.call('deployApplication', { ...at(id), body: {}, query: { dry_run: true } }),
    client.call('redeployApplication', at(id)),
    client.call('deployEnvironment', { params: { environmentId } }),
    client.call('deployAllServices', { params: { environmentId }, body: { applications: [{ application_id: id }] } }),
  ]);
  for (const call of calls) expect(call).toMatchObject({ status: 'rejected', reason: refusal });
  await client.call('editAdvancedSettings', { ...at(id), body: { [whitelist]: '0.0.0.0/0,::/0', [denylist]: null } });
  const status = await ended(id, () => client.call('deployApplication', { ...at(id), body: {} }));
  expect(status).toMatchObject({ state: 'DEPLOYED', failure: null });
});

test('what nobody outside reaches, or Davit’s own gateway serves, may be restricted', async () => {
  const notRequested = await application(await environment({ cluster_id: clusterId }), { [whitelist]: '10.0.0.0/8' }, false);
  const unled = await application(await environment({ cluster_id: hiddenId }), { [whitelist]: '10.0.0.0/8' });
  const local = await application(await environment({}), { [whitelist]: '10.0.0.0/8' });
  for (const id of [notRequested, unled, local]) {
    const status = await ended(id, () => client.call('deployApplication', { ...at(id), body: {} }));
    expect(status).toMatchObject({ state: 'DEPLOYED', failure: null });
  }
});

test('a rollback to a release that restricts who is served fails, and what serves goes on', async () => {
  const environmentId = await environment({});
  const id = await application(environmentId, { [whitelist]: '10.0.0.0/8' });
  const first = await ended(id, () => client.call('deployApplication', { ...at(id), body: {} }));
  await client.call('editAdvancedSettings', { ...at(id), body: { [whitelist]: null } });
  await client.call('editEnvironment', { params: { environmentId }, body: { cluster_id: clusterId } });
  const second = await ended(id, () => client.call('deployApplication', { ...at(id), body: {} }));
  expect(second).toMatchObject({ state: 'DEPLOYED', failure: null });
  const before = far.instances;
  const body = { release_id: first.release_id ?? '' };
  const third = await ended(id, () => client.call('deployApplication', { ...at(id), body }));
  expect(third.failure).toMatchObject({ code: 'SOURCES_UNRESTRICTED', message: expect.stringContaining(whitelist) });
  expect(far.instances).toEqual(before);
});
