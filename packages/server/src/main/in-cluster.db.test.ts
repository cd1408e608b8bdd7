import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFakeCluster } from '@davit/drivers';
import { createEngine } from '@davit/engine';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kubernetesClusters } from './kubernetes-clusters.ts';

/*
 * Only the operator decides which cluster record stands for Davit's own cluster. The processes of these tests run in no
 * pod, so they find no service account.
 */

const kubeconfig = 'apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n';
const folder = mkdtempSync(join(tmpdir(), 'davit-in-cluster-'));
const file = join(folder, 'clusters.json');
let first: TestServer;
let params: { organizationId: string; clusterId: string };
let other: { organizationId: string; clusterId: string };

/** Starts a server process of the installation with these settings of clusters. */
async function started(settings: object, beside?: TestServer): Promise<TestServer> {
  writeFileSync(file, JSON.stringify(settings));
  const clusterSettings = settings as Record<string, object>; // oxlint-disable-line typescript/no-unsafe-type-assertion -- as written above
  const server = await startTestServer({
    ...(beside !== undefined && { beside }),
    environment: { DAVIT_CLUSTER_SETTINGS: file },
    engine: (parts) =>
      createEngine({
        ...parts,
        drivers: { docker: createFakeCluster() },
        makeCluster: kubernetesClusters({ localEngine: true, clusterSettings }, parts.settings.installation),
      }),
  });
  await server.api.engine.start();
  return server;
}

async function stop(server: TestServer): Promise<void> {
  await server.api.engine.stop();
  await server.close();
}

beforeAll(async () => {
  first = await started({});
  const { id: organizationId } = await first.organization();
  const make = async (name: string) => {
    const body = { name, region: 'basement', cloud_provider: 'ON_PREMISE' } as const;
    return { organizationId, clusterId: (await first.client().call('createCluster', { params: { organizationId }, body })).id };
  };
  params = await make('own');
  other = await make('other');
});
afterAll(async () => {
  await stop(first);
  rmSync(folder, { recursive: true, force: true });
});

test('a cluster that the operator names is worked with as the own service account, and needs no kubeconfig', async () => {
  const server = await started({ [params.clusterId]: { in_cluster: true } }, first);
  const client = server.client();
  await client.call('deployCluster', { params });
  expect((await client.call('getClusterStatus', { params })).status).toBe('INVALID_CREDENTIALS');
  const [line] = (await client.call('listClusterLogs', { params })).results.toReversed();
  expect(line?.message?.safe_message).toContain('the service account of its own pod, but KUBERNETES_SERVICE_HOST is not set');
  await expect(client.call('editClusterKubeconfig', { params, body: kubeconfig })).rejects.toMatchObject({
    code: 'CLUSTER_KIND_UNSUPPORTED',
  });
  await expect(client.call('getClusterKubeconfig', { params, query: {} })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining('needs none'),
  });
  // Clusters of other organizations are not accessed this way.
  await expect(client.call('deployCluster', { params: other })).rejects.toMatchObject({ code: 'CLUSTER_NOT_DEPLOYED' });
  await stop(server);
});

test('it ends with the setting, and what a process without the setting finds in the database lets it nowhere', async () => {
  const named = await started({ [params.clusterId]: { in_cluster: true } }, first);
  // The first process lacks the setting, although the record now says that the cluster is accessible.
  const client = first.client();
  await client.call('deployCluster', { params });
  const [line] = (await client.call('listClusterLogs', { params })).results.toReversed();
  expect(line?.message?.safe_message).toContain('The kubeconfig of the cluster');
  await stop(named);
  const without = await started({}, first);
  await expect(without.client().call('deployCluster', { params })).rejects.toMatchObject({ code: 'CLUSTER_NOT_DEPLOYED' });
  await without.client().call('editClusterKubeconfig', { params, body: kubeconfig });
  await stop(without);
});
