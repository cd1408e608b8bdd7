import { statement } from '@davit/db';
import type { Client } from '@davit/client';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isKubeconfig } from './kubeconfig.ts';

let server: TestServer;
let client: Client;
let owner: TestOrganization;

beforeAll(async () => {
  server = await startTestServer();
  owner = await server.organization();
  client = server.client(owner.tokens.ADMIN);
});
afterAll(() => server.close());

const kubeconfig = `apiVersion: v1
kind: Config # the owner's
clusters:
- name: rack
  cluster: {server: https://10.0.0.1:6443}
contexts: []
users:
- name: admin
  user: {token: canary-token}
`;
const stored = statement<{ text: string }>(
  'test_kubeconfig',
  `select to_jsonb(cluster)::text as text from cluster where id = $1`,
);

async function cluster(kubernetes: 'SELF_MANAGED' | 'MANAGED', name: string) {
  const params = { organizationId: owner.id };
  const body = { name, region: 'eu-west-3', cloud_provider: 'AWS', kubernetes } as const;
  return { ...params, clusterId: (await client.call('createCluster', { params, body })).id };
}

function put(ids: { organizationId: string; clusterId: string }, body: string, type: string): Promise<Response> {
  return fetch(`${server.baseUrl}/organization/${ids.organizationId}/cluster/${ids.clusterId}/kubeconfig`, {
    method: 'PUT',
    headers: { authorization: `Token ${owner.tokens.ADMIN}`, 'content-type': type },
    body,
  });
}

test('a kubeconfig is stored sealed and answered as it was, to administrators alone', async () => {
  const params = await cluster('SELF_MANAGED', 'rack');
  await expect(client.call('getClusterKubeconfig', { params })).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
  await client.call('editClusterKubeconfig', { params, body: kubeconfig });
  expect(await client.call('getClusterKubeconfig', { params })).toBe(kubeconfig);
  expect((await server.database.database.one(stored, [params.clusterId])).text).not.toContain('canary');
  expect(JSON.stringify(await client.call('listOrganizationCluster', { params }))).not.toContain('canary');
  const call = server.client(owner.tokens.WRITE).call('getClusterKubeconfig', { params });
  await expect(call).rejects.toMatchObject({ status: 403 });
  const withToken = client.call('getClusterKubeconfig', { params, query: { with_token_from_cli: true } });
  await expect(withToken).rejects.toMatchObject({ status: 400, errors: [{ path: 'with_token_from_cli' }] });
});

test('its body is YAML, or a JSON string; nothing else is taken', async () => {
  const ids = await cluster('SELF_MANAGED', 'types');
  for (const type of ['application/x-yaml', 'application/yaml; charset=utf-8', 'text/yaml']) {
    expect((await put(ids, kubeconfig, type)).status).toBe(204);
  }
  expect((await put(ids, JSON.stringify(kubeconfig), 'application/json')).status).toBe(204);
  const response = await fetch(`${server.baseUrl}/organization/${ids.organizationId}/cluster/${ids.clusterId}/kubeconfig`, {
    headers: { authorization: `Token ${owner.tokens.ADMIN}` },
  });
  expect(response.headers.get('content-type')).toContain('application/x-yaml');
  expect(await response.text()).toBe(kubeconfig);
  const asJson = await put(ids, kubeconfig, 'application/json');
  expect(JSON.parse(await asJson.text())).toMatchObject({
    code: 'MALFORMED_JSON',
    message: expect.stringMatching(/line 1, column 1.*Content-Type: application\/x-yaml/),
  });
  const asXml = await put(ids, '<xml/>', 'text/xml');
  expect(JSON.parse(await asXml.text())).toMatchObject({ message: expect.stringContaining('application/x-yaml') });
  for (const [body, type, status, code] of [
    ['', 'application/x-yaml', 400, 'VALIDATION_FAILED'],
    ['kind: Pod', 'application/x-yaml', 400, 'VALIDATION_FAILED'],
    ['a\0b', 'application/x-yaml', 400, 'VALIDATION_FAILED'],
    ['{"kind":"Config"}', 'application/json', 400, 'VALIDATION_FAILED'],
    ['<xml/>', 'text/xml', 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ] as const) {
    const refused = await put(ids, body, type);
    expect({ status: refused.status, ...JSON.parse(await refused.text()) }).toMatchObject({ status, code });
  }
  const elsewhere = await fetch(`${server.baseUrl}/cluster/${ids.clusterId}/lock`, {
    method: 'POST',
    headers: { authorization: `Token ${owner.tokens.ADMIN}`, 'content-type': 'application/x-yaml' },
    body: 'reason: x',
  });
  expect(elsewhere.status).toBe(415);
});

test('clusters of other kinds have none', async () => {
  const params = await cluster('MANAGED', 'live');
  await expect(client.call('getClusterKubeconfig', { params })).rejects.toMatchObject({ code: 'CLUSTER_NOT_DEPLOYED' });
  const unsupported = { status: 409, code: 'CLUSTER_KIND_UNSUPPORTED' };
  await expect(client.call('editClusterKubeconfig', { params, body: kubeconfig })).rejects.toMatchObject(unsupported);
  const [local] = (await client.call('listOrganizationCluster', { params })).results;
  const here = { ...params, clusterId: local?.id ?? '' };
  await expect(client.call('getClusterKubeconfig', { params: here })).rejects.toMatchObject(unsupported);
  await expect(client.call('editClusterKubeconfig', { params: here, body: kubeconfig })).rejects.toMatchObject(unsupported);
});

test('a locked cluster keeps its kubeconfig', async () => {
  const params = await cluster('SELF_MANAGED', 'locked');
  await client.call('lockCluster', { params, body: { reason: 'audit' } });
  const call = client.call('editClusterKubeconfig', { params, body: kubeconfig });
  await expect(call).rejects.toMatchObject({ code: 'CLUSTER_LOCKED' });
});

test('a kubeconfig is known by its top level, in YAML and in JSON', () => {
  const json = { kind: 'Config', clusters: [], contexts: [], users: [] };
  expect(isKubeconfig(kubeconfig.replaceAll('\n', '\r\n'))).toBe(true);
  expect(isKubeconfig(JSON.stringify(json))).toBe(true);
  expect(isKubeconfig(JSON.stringify({ ...json, users: 1 }))).toBe(false);
  expect(isKubeconfig('{')).toBe(false);
  expect(isKubeconfig(kubeconfig.replace('kind: Config', 'kind: List'))).toBe(false);
  expect(isKubeconfig(kubeconfig.replace('users:', 'people:'))).toBe(false);
});
