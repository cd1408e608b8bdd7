import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

/* Tests of the installation settings in a cluster's record, and of the label groups and git tokens that it names. */

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
});
afterAll(() => server.close());

const request = { name: 'live', region: 'here', cloud_provider: 'ON_PREMISE', kubernetes: 'SELF_MANAGED' } as const;

async function organization() {
  const params = { organizationId: (await server.organization()).id };
  const label = { key: 'team', value: 'shop', propagate_to_cloud_provider: true };
  const group = await client.call('createOrganizationLabelsGroup', { params, body: { name: 'teams', labels: [label] } });
  const token = await client.call('createGitToken', { params, body: { name: 'infra', type: 'HOSTA', token: 'sesame' } });
  return { params, group, token };
}

const parametersOf = (gitTokenId: string) => ({
  metrics_parameters: {
    enabled: true,
    configuration: {
      kind: 'MANAGED_BY_SERVICE',
      resource_profile: 'LOW',
      high_availability: false,
      alerting: { enabled: true, default_rule_labels: { team: 'shop' }, config_name: 'rules' },
    },
  } as const,
  infrastructure_charts_parameters: {
    nginx_parameters: { replica_count: 2, default_ssl_certificate: 'system/tls' },
    cert_manager_parameters: { kubernetes_namespace: 'cert-manager' },
    metal_lb_parameters: { ip_address_pools: ['10.0.0.10-10.0.0.20'] },
    eks_anywhere_parameters: {
      git_repository: { url: 'https://git.example.org/shop/infra.git', branch: 'main', git_token_id: gitTokenId },
      yaml_file_path: 'clusters/live.yaml',
      cluster_backup: { s3: { bucket: 'backups', region: 'eu-west-3', role_arn: 'arn' } },
    },
  },
  keda: { enabled: true },
});

test('a cluster answers what was recorded for its installation, and an edit that leaves it out keeps it', async () => {
  const { params, group, token } = await organization();
  const parameters = parametersOf(token.id);
  const body = { ...request, ...parameters, labels_groups: [{ id: group.id.toUpperCase() }, { id: group.id }] };
  const made = await client.call('createCluster', { params, body });
  expect(made).toMatchObject({ ...parameters, labels_groups: [{ id: group.id }] });
  const ids = { ...params, clusterId: made.id };
  const kept = await client.call('editCluster', { params: ids, body: { ...request, name: 'renamed' } });
  expect(kept).toMatchObject({ name: 'renamed', ...parameters, labels_groups: [{ id: group.id }] });
  const changed = await client.call('editCluster', {
    params: ids,
    body: { ...request, keda: { enabled: false }, labels_groups: [] },
  });
  expect(changed).toMatchObject({ keda: { enabled: false }, labels_groups: [], metrics_parameters: { enabled: true } });
  expect((await client.call('listOrganizationCluster', { params })).results).toContainEqual(changed);
});

test('a label group tells its clusters, and stays while one has it', async () => {
  const { params, group } = await organization();
  const body = { ...request, labels_groups: [{ id: group.id }] };
  const cluster = await client.call('createCluster', { params, body });
  const ids = { ...params, labelsGroupId: group.id };
  expect(await client.call('getOrganizationLabelsGroupAssociatedItems', { params: ids })).toEqual({
    results: [{ cluster_id: cluster.id, cluster_name: 'live', item_id: cluster.id, item_name: 'live', item_type: 'CLUSTER' }],
  });
  const listed = await client.call('listOrganizationLabelsGroup', { params });
  expect(listed.results).toMatchObject([{ id: group.id, associated_items_count: 1 }]);
  const refusal = { status: 409, code: 'IN_USE', message: expect.stringContaining('live') };
  await expect(client.call('deleteOrganizationLabelsGroup', { params: ids })).rejects.toMatchObject(refusal);
  await client.call('deleteCluster', { params: { ...params, clusterId: cluster.id } });
  await client.call('deleteOrganizationLabelsGroup', { params: ids });
});

test('a git token stays while a cluster is installed with it', async () => {
  const { params, token } = await organization();
  const cluster = await client.call('createCluster', { params, body: { ...request, ...parametersOf(token.id.toUpperCase()) } });
  const ids = { ...params, gitTokenId: token.id };
  const refusal = { status: 409, code: 'IN_USE', message: expect.stringContaining('live') };
  await expect(client.call('deleteGitToken', { params: ids })).rejects.toMatchObject(refusal);
  await client.call('deleteCluster', { params: { ...params, clusterId: cluster.id } });
  await client.call('deleteGitToken', { params: ids });
});

test('groups and tokens of another organization, or of none, are refused by their place', async () => {
  const { params, group } = await organization();
  const other = await organization();
  const labels_groups = [{ id: group.id }, { id: other.group.id }];
  await expect(client.call('createCluster', { params, body: { ...request, labels_groups } })).rejects.toMatchObject({
    status: 400,
    code: 'INVALID_REFERENCE',
    errors: [{ path: 'labels_groups.1.id' }],
  });
  for (const id of [other.token.id, randomUUID()]) {
    await expect(client.call('createCluster', { params, body: { ...request, ...parametersOf(id) } })).rejects.toMatchObject({
      code: 'INVALID_REFERENCE',
      errors: [{ path: 'infrastructure_charts_parameters.eks_anywhere_parameters.git_repository.git_token_id' }],
    });
  }
  const cluster = await client.call('createCluster', { params, body: request });
  const ids = { ...params, clusterId: cluster.id };
  await expect(
    client.call('editCluster', { params: ids, body: { ...request, labels_groups: [{ id: randomUUID() }] } }),
  ).rejects.toMatchObject({ code: 'INVALID_REFERENCE' });
  expect(await client.call('editCluster', { params: ids, body: request })).toMatchObject({ labels_groups: [] });
});

test('a group is either used by a cluster or gone, when both are asked for at once', async () => {
  const { params } = await organization();
  for (let round = 0; round < 5; round += 1) {
    const body = { name: `round ${round}`, labels: [] };
    const group = await client.call('createOrganizationLabelsGroup', { params, body });
    const [made, gone] = await Promise.allSettled([
      client.call('createCluster', { params, body: { ...request, name: `c ${round}`, labels_groups: [{ id: group.id }] } }),
      client.call('deleteOrganizationLabelsGroup', { params: { ...params, labelsGroupId: group.id } }),
    ]);
    const refused = made.status === 'rejected' ? made : gone;
    const code = made.status === 'rejected' ? 'INVALID_REFERENCE' : 'IN_USE';
    expect([made.status, gone.status].toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(refused).toMatchObject({ reason: { code } });
  }
});
