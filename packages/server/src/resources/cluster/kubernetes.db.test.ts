import type { Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let clusters: Readonly<Record<'local' | 'own' | 'managed', string>>;
let organizationId: string;

beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
  organizationId = (await server.organization()).id;
  const params = { organizationId };
  const [local] = (await client.call('listOrganizationCluster', { params })).results;
  const own = { name: 'own', region: 'here', cloud_provider: 'ON_PREMISE', kubernetes: 'SELF_MANAGED' } as const;
  const managed = { name: 'managed', region: 'eu-west-3', cloud_provider: 'AWS' } as const;
  clusters = {
    local: local?.id ?? '',
    own: (await client.call('createCluster', { params, body: own })).id,
    managed: (await client.call('createCluster', { params, body: managed })).id,
  };
});
afterAll(() => server.close());

const query = { from_date_time: '2026-01-01T00:00:00Z', to_date_time: '2026-01-02T00:00:00Z' };
const events = (which: keyof typeof clusters, period = query) =>
  client.call('getClusterKubernetesEvents', { params: { clusterId: clusters[which] }, query: period });
const token = (which: keyof typeof clusters) =>
  client.call('getClusterTokenByClusterId', { params: { clusterId: clusters[which] } });
const values = (which: keyof typeof clusters) =>
  client.call('getInstallationHelmValues', { params: { organizationId, clusterId: clusters[which] } });

const unsupported = (saying: string) => ({
  status: 409,
  code: 'CLUSTER_KIND_UNSUPPORTED',
  message: expect.stringContaining(saying),
});

test('the container engine of this machine has no Kubernetes events, token or values; the refusal says what there is', async () => {
  await expect(events('local')).rejects.toMatchObject(unsupported('deployment history'));
  await expect(token('local')).rejects.toMatchObject(unsupported('nobody needs a token'));
  await expect(values('local')).rejects.toMatchObject(unsupported('no chart to install'));
});

test('a cluster of one’s own has its kubeconfig, which the refusals point to', async () => {
  await expect(events('own')).rejects.toMatchObject({ status: 409, code: 'CLUSTER_NOT_DEPLOYED' });
  await expect(token('own')).rejects.toMatchObject(unsupported('/kubeconfig'));
  await expect(values('own')).rejects.toMatchObject(unsupported('/kubeconfig'));
});

test('a managed cluster that is not deployed gives no token', async () => {
  await expect(token('managed')).rejects.toMatchObject({ status: 409, code: 'CLUSTER_NOT_DEPLOYED' });
});

test('the period of events is checked before anything else is said', async () => {
  const wrong = { from_date_time: query.to_date_time, to_date_time: query.from_date_time };
  await expect(events('local', wrong)).rejects.toMatchObject({ status: 400, errors: [{ path: 'to_date_time' }] });
  await expect(events('local', { ...query, from_date_time: 'yesterday' })).rejects.toMatchObject({
    status: 400,
    errors: [{ path: 'from_date_time' }],
  });
});
