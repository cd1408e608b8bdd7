import { randomUUID } from 'node:crypto';
import { createFakeCluster } from '@davit/drivers';
import { createEngine } from '@davit/engine';
import { statement } from '@davit/db';
import { ApiError, type Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
let answering: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
  answering = await startTestServer({
    engine: (parts) => createEngine({ ...parts, drivers: { docker: createFakeCluster() } }),
  });
});
afterAll(async () => {
  await server.close();
  await answering.close();
});

const restrict = statement('test_cluster_restrict', 'update organization set billing_deployment_restriction = $2 where id = $1');
const expire = statement(
  'test_cluster_lock_expire',
  `update cluster_lock set locked_at = locked_at - interval '3 days', expires_at = expires_at - interval '3 days' where cluster_id = $1`,
);

const aws = { name: 'live', region: 'eu-west-3', cloud_provider: 'AWS' } as const;
const staticIp = '0b7f1f0e-6a55-4f0a-9d0e-6f1f3c1b0a02';
const addresses = '0b7f1f0e-6a55-4f0a-9d0e-6f1f3c1b0a01';
const network = '0b7f1f0e-6a55-4f0a-9d0e-6f1f3c1b0a03';

/** Creates an organization. `place` is its cluster Local. */
async function organization(at: TestServer = server) {
  const { id, tokens } = await at.organization();
  const params = { organizationId: id };
  const [local] = (await at.client().call('listOrganizationCluster', { params })).results;
  return { params, tokens, local: local?.id ?? '', ids: { ...params, clusterId: local?.id ?? '' } };
}

async function managed() {
  const { params } = await organization();
  const { id } = await client.call('createCluster', { params, body: aws });
  return { params, ids: { ...params, clusterId: id } };
}

/** Returns `done`, or the error code of a refused call. */
function outcomeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'done',
    (error: unknown) => (error instanceof ApiError ? error.code : String(error)),
  );
}

async function environmentOn(params: { organizationId: string }, cluster_id: string) {
  const project = await client.call('createProject', { params, body: { name: `shop ${randomUUID()}` } });
  const environment = await client.call('createEnvironment', {
    params: { projectId: project.id },
    body: { name: 'live', cluster_id },
  });
  const body = { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
  const inEnvironment = { environmentId: environment.id };
  const application = await client.call('createApplication', { params: inEnvironment, body });
  return { project, environment, application, inEnvironment };
}

describe('a lock', () => {
  test('is told in status and list, refuses changes, and ends by unlocking', async () => {
    const { params, tokens, local, ids } = await organization();
    const admin = server.client(tokens.ADMIN);
    const one = { clusterId: local };
    const lock = await admin.call('lockCluster', { params: one, body: { reason: 'audit', ttl_in_days: 2 } });
    expect(lock).toEqual({
      reason: 'audit',
      ttl_in_days: 2,
      cluster_id: local,
      locked_at: expect.any(String),
      owner_name: 'token ADMIN',
    });
    expect((await client.call('listClusterLock', { params })).results).toEqual([lock]);
    expect(await client.call('getClusterStatus', { params: ids })).toMatchObject({ cluster_lock: lock, reason: 'UNSPECIFIED' });
    const locked = { status: 409, code: 'CLUSTER_LOCKED', message: expect.stringContaining('by token ADMIN') };
    const body = { name: 'Local', region: 'local', cloud_provider: 'ON_PREMISE' } as const;
    await expect(client.call('lockCluster', { params: one, body: { reason: 'mine' } })).rejects.toMatchObject(locked);
    await expect(client.call('editCluster', { params: ids, body })).rejects.toMatchObject(locked);
    await expect(client.call('deleteCluster', { params: ids })).rejects.toMatchObject(locked);
    await expect(client.call('deployCluster', { params: ids })).rejects.toMatchObject(locked);
    await expect(client.call('stopCluster', { params: ids })).rejects.toMatchObject(locked);
    await expect(client.call('upgradeCluster', { params: one })).rejects.toMatchObject(locked);
    await expect(client.call('editClusterAdvancedSettings', { params: ids, body: {} })).rejects.toMatchObject(locked);
    await expect(client.call('editRoutingTable', { params: ids, body: { routes: [] } })).rejects.toMatchObject(locked);
    await expect(client.call('specifyClusterCloudProviderInfo', { params: ids, body: {} })).rejects.toMatchObject(locked);
    const { inEnvironment } = await environmentOn(params, local);
    await client.call('deployEnvironment', { params: inEnvironment });
    await client.call('unlockCluster', { params: one });
    await client.call('unlockCluster', { params: one });
    expect(await client.call('editCluster', { params: ids, body: { ...body, description: 'this' } })).toMatchObject({
      description: 'this',
    });
    expect((await client.call('getClusterStatus', { params: ids })).cluster_lock).toBeNull();
  });

  test('whose time is over is none, and another one takes its place', async () => {
    const { params, local, ids } = await organization();
    const one = { clusterId: local };
    await client.call('lockCluster', { params: one, body: { reason: 'short', ttl_in_days: 3 } });
    await server.database.database.run(expire, [local]);
    expect((await client.call('listClusterLock', { params })).results).toEqual([]);
    expect((await client.call('getClusterStatus', { params: ids })).cluster_lock).toBeNull();
    const lock = await client.call('lockCluster', { params: one, body: { reason: 'for good', ttl_in_days: null } });
    expect(lock).not.toHaveProperty('ttl_in_days');
    expect((await client.call('listClusterLock', { params })).results).toEqual([lock]);
  });

  test('is taken by one of several who want it at once', async () => {
    const { local } = await organization();
    const wanted = Array.from({ length: 8 }, (_none, index) =>
      client.call('lockCluster', { params: { clusterId: local }, body: { reason: `number ${index}` } }),
    );
    const outcomes = await Promise.all(wanted.map(outcomeOf));
    expect(outcomes.toSorted()).toEqual([...Array.from({ length: 7 }, () => 'CLUSTER_LOCKED'), 'done']);
  });

  test('needs a reason and whole days', async () => {
    const { local } = await organization();
    const lock = (body: Record<string, unknown>): Promise<Response> =>
      fetch(`${server.baseUrl}/cluster/${local}/lock`, {
        method: 'POST',
        headers: { authorization: `Token ${server.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    for (const [body, path] of [
      [{}, 'reason'],
      [{ reason: ' ' }, 'reason'],
      [{ reason: 'x', ttl_in_days: 0 }, 'ttl_in_days'],
      [{ reason: 'x', ttl_in_days: 1.5 }, 'ttl_in_days'],
    ] as const) {
      const response = await lock(body);
      expect({ status: response.status, ...JSON.parse(await response.text()) }).toMatchObject({
        status: 400,
        errors: [{ path }],
      });
    }
  });
});

describe('the cluster of this machine', () => {
  test('is ready when its engine answers, and tells so in its log after a deployment', async () => {
    const { ids } = await organization(answering);
    const admin = answering.client();
    expect(await admin.call('getClusterReadinessStatus', { params: ids })).toEqual({ is_ready: true });
    expect(await admin.call('deployCluster', { params: ids, query: { dry_run: true } })).toMatchObject({ status: 'DEPLOYED' });
    expect((await admin.call('listClusterLogs', { params: ids })).results).toEqual([]);
    expect(await admin.call('deployCluster', { params: ids })).toMatchObject({ status: 'DEPLOYED', is_deployed: true });
    expect((await admin.call('listClusterLogs', { params: ids })).results).toMatchObject([
      { type: 'info', step: 'Created', details: { provider_kind: 'ON_PREMISE', transmitter: { id: ids.clusterId } } },
    ]);
  });

  test('is not ready when it does not, and the log says what to do', async () => {
    const { ids } = await organization();
    expect(await client.call('getClusterReadinessStatus', { params: ids })).toEqual({ is_ready: false });
    expect(await client.call('deployCluster', { params: ids })).toMatchObject({ status: 'DEPLOYMENT_ERROR' });
    expect((await client.call('listClusterLogs', { params: ids })).results).toMatchObject([
      { step: 'CreateError', error: { tag: 'ENGINE_UNREACHABLE', hint_message: expect.stringContaining('Docker') } },
    ]);
  });

  test('has no next version, is not stopped, and stays the default one', async () => {
    const { ids, local } = await organization();
    const refused = { status: 409, code: 'CLUSTER_KIND_UNSUPPORTED' };
    expect(await client.call('getClusterStatus', { params: ids })).toMatchObject({ next_k8s_available_version: null });
    await expect(client.call('upgradeCluster', { params: { clusterId: local } })).rejects.toMatchObject(refused);
    await expect(client.call('stopCluster', { params: ids })).rejects.toMatchObject(refused);
    const routes = [{ destination: '10.1.0.0/16', target: 'x', description: '' }];
    await expect(client.call('editRoutingTable', { params: ids, body: { routes } })).rejects.toMatchObject(refused);
    await expect(client.call('deleteCluster', { params: ids })).rejects.toMatchObject({
      status: 409,
      code: 'CLUSTER_IS_DEFAULT',
    });
    const moved = { name: 'Local', region: 'mars', cloud_provider: 'ON_PREMISE' } as const;
    await expect(client.call('editCluster', { params: ids, body: moved })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'region' }],
    });
  });

  test('lists its environments with their services', async () => {
    const { params, local } = await organization();
    const { project, environment, application } = await environmentOn(params, local);
    const listed = await client.call('getEnvironmentsByClusterId', { params: { clusterId: local } });
    expect(listed.results).toEqual([
      {
        environment_id: environment.id,
        environment_name: 'live',
        project_id: project.id,
        project_name: project.name,
        services: [{ id: application.id, name: 'web', type: 'APPLICATION' }],
      },
    ]);
  });
});

describe('a cluster of a vendor', () => {
  test('is recorded, listed, edited and deleted', async () => {
    const { params } = await organization();
    const body = {
      ...aws,
      description: null,
      min_running_nodes: 2,
      max_running_nodes: 5,
      instance_type: 't3.medium',
      ssh_keys: ['ssh-ed25519 AAAA someone'],
      features: [
        { id: staticIp.toUpperCase(), value: true },
        { id: addresses, value: '10.42.0.0/16' },
      ],
    };
    const made = await client.call('createCluster', { params, body });
    expect(made).toMatchObject({
      name: 'live',
      description: '',
      kubernetes: 'MANAGED',
      status: 'READY',
      deployment_status: 'NEVER_DEPLOYED',
      is_default: false,
      is_demo: false,
      min_running_nodes: 2,
      max_running_nodes: 5,
      instance_type: 't3.medium',
      features: [
        { id: staticIp, value_type: 'BOOLEAN', value_object: { type: 'BOOLEAN', value: true } },
        { id: addresses, value_object: { type: 'STRING', value: '10.42.0.0/16' } },
      ],
    });
    const ids = { ...params, clusterId: made.id };
    expect(await client.call('getClusterStatus', { params: ids })).toMatchObject({ status: 'READY', is_deployed: false });
    expect(await client.call('getClusterReadinessStatus', { params: ids })).toEqual({ is_ready: false });
    const change = { ...aws, name: 'LIVE', production: true, instance_type: null, features: [{ id: staticIp, value: null }] };
    const edited = await client.call('editCluster', { params: ids, body: change });
    expect(edited).toMatchObject({ name: 'LIVE', production: true, min_running_nodes: 2, features: [] });
    expect(edited).not.toHaveProperty('instance_type');
    const { results } = await client.call('listOrganizationCluster', { params });
    expect(results.map(({ name }) => name)).toEqual(['Local', 'LIVE']);
    expect(results[1]).toEqual(edited);
    await expect(client.call('createCluster', { params, body: aws })).rejects.toMatchObject({ status: 409, code: 'NAME_TAKEN' });
    await client.call('deleteCluster', { params: ids, query: { deleteMode: 'DELETE_SERVICE_CONFIG' } });
    await expect(client.call('getClusterStatus', { params: ids })).rejects.toMatchObject({ status: 404 });
  });

  test('is refused with every place that is wrong', async () => {
    const { params } = await organization();
    const cases: readonly (readonly [Record<string, unknown>, readonly string[]])[] = [
      [{ region: 'mars' }, ['region']],
      [
        { region: 'eu-west-3', instance_type: 't3.tiny', min_running_nodes: 3, max_running_nodes: 1 },
        ['max_running_nodes', 'instance_type'],
      ],
      [{ instance_type: 'g5.xlarge' }, ['instance_type']],
      [{ cloud_provider: 'DO', kubernetes: 'MANAGED' }, ['kubernetes']],
      [{ cloud_provider: 'VENDORA', region: 'fr-par', kubernetes: 'PARTIALLY_MANAGED' }, ['kubernetes']],
      [{ disk_iops: 100 }, ['disk_iops']],
      [{ cloud_provider_credentials: { cloud_provider: 'VENDORA' } }, ['cloud_provider_credentials.cloud_provider']],
      [{ features: [{ id: randomUUID(), value: true }] }, ['features.0.id']],
      [
        {
          features: [
            { id: staticIp, value: 'yes' },
            { id: addresses, value: '1.2.3.4' },
          ],
        },
        ['features.0.value', 'features.1.value'],
      ],
      [
        {
          features: [
            { id: network, value: { aws_vpc_eks_id: 'vpc-1', eks_subnets_zone_a_ids: ['a'], eks_subnets_zone_b_ids: [] } },
          ],
        },
        ['features.0.value.eks_subnets_zone_b_ids', 'features.0.value.eks_subnets_zone_c_ids'],
      ],
    ];
    for (const [fields, paths] of cases) {
      const response = await fetch(`${server.baseUrl}/organization/${params.organizationId}/cluster`, {
        method: 'POST',
        headers: { authorization: `Token ${server.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...aws, ...fields }),
      });
      const body: { errors?: { path: string }[] } = JSON.parse(await response.text());
      expect({ status: response.status, paths: body.errors?.map(({ path }) => path) }).toEqual({ status: 400, paths });
    }
    expect((await client.call('listOrganizationCluster', { params })).results).toHaveLength(1);
  });

  test('keeps its vendor and its kind of Kubernetes', async () => {
    const { ids } = await managed();
    const other = { ...aws, cloud_provider: 'CLOUDC', region: 'europe-west9' } as const;
    await expect(client.call('editCluster', { params: ids, body: other })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'cloud_provider' }],
    });
    const own = { ...aws, kubernetes: 'SELF_MANAGED' } as const;
    await expect(client.call('editCluster', { params: ids, body: own })).rejects.toMatchObject({
      errors: [{ path: 'kubernetes' }],
    });
  });

  test('is self-managed where no managed one is known', async () => {
    const { params } = await organization();
    const body = { name: 'rack', region: 'basement', cloud_provider: 'ON_PREMISE' } as const;
    expect(await client.call('createCluster', { params, body })).toMatchObject({
      kubernetes: 'SELF_MANAGED',
      region: 'basement',
    });
  });

  test('cannot be deployed: the refusal is clear, and the log remembers it', async () => {
    const { ids } = await managed();
    const refused = { status: 409, code: 'CLUSTER_NOT_PROVISIONABLE', message: expect.stringContaining('Local') };
    await expect(client.call('deployCluster', { params: ids, query: { dry_run: true } })).rejects.toMatchObject(refused);
    expect((await client.call('listClusterLogs', { params: ids })).results).toEqual([]);
    await expect(client.call('deployCluster', { params: ids })).rejects.toMatchObject(refused);
    expect((await client.call('listClusterLogs', { params: ids })).results).toMatchObject([
      { type: 'error', step: 'CreateError', error: { tag: 'CLUSTER_NOT_PROVISIONABLE', link: expect.any(String) } },
    ]);
    expect(await client.call('getClusterStatus', { params: ids })).toMatchObject({ status: 'READY', is_deployed: false });
    const nothing = { status: 409, code: 'CLUSTER_NOT_DEPLOYED' };
    await expect(client.call('stopCluster', { params: ids })).rejects.toMatchObject(nothing);
    await expect(client.call('upgradeCluster', { params: { clusterId: ids.clusterId } })).rejects.toMatchObject(nothing);
  });

  test('takes environments, but no deployments, and is deleted after them', async () => {
    const { params, ids } = await managed();
    const { environment, application, inEnvironment, project } = await environmentOn(params, ids.clusterId);
    const nothing = { status: 409, code: 'CLUSTER_NOT_DEPLOYED', message: expect.stringContaining('live') };
    await expect(client.call('deployEnvironment', { params: inEnvironment })).rejects.toMatchObject(nothing);
    const inApplication = { applicationId: application.id };
    await expect(client.call('deployApplication', { params: inApplication })).rejects.toMatchObject(nothing);
    await expect(client.call('stopApplication', { params: inApplication })).rejects.toMatchObject({ code: 'NEVER_DEPLOYED' });
    await expect(client.call('deleteCluster', { params: ids })).rejects.toMatchObject({
      status: 409,
      code: 'IN_USE',
      message: expect.stringContaining(`${project.name}/live`),
    });
    await client.call('deleteEnvironment', { params: { environmentId: environment.id } });
    await client.call('deleteCluster', { params: ids });
  });

  test('either has the environment or is gone, when both are asked for at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { params, ids } = await managed();
      const project = await client.call('createProject', { params, body: { name: 'race' } });
      const inProject = { projectId: project.id };
      const outcome = await Promise.all([
        outcomeOf(client.call('createEnvironment', { params: inProject, body: { name: 'e', cluster_id: ids.clusterId } })),
        outcomeOf(client.call('deleteCluster', { params: ids })),
      ]);
      expect(['done IN_USE', 'NOT_FOUND done']).toContain(outcome.join(' '));
    }
  });

  test('is not created where billing forbids it; one of the owner’s is', async () => {
    const { params } = await organization();
    for (const restriction of ['NO_CREDIT_CARD', 'UNPAID']) {
      await server.database.database.run(restrict, [params.organizationId, restriction]);
      await expect(client.call('createCluster', { params, body: aws })).rejects.toMatchObject({
        status: 403,
        code: 'BILLING_RESTRICTION',
      });
    }
    const body = { ...aws, name: 'own', kubernetes: 'SELF_MANAGED' } as const;
    expect(await client.call('createCluster', { params, body })).toMatchObject({ name: 'own' });
  });

  test('remembers routes, each destination once', async () => {
    const { ids } = await managed();
    const routes = [{ destination: '10.1.0.0/16', target: 'tgw-1', description: 'office' }];
    expect(await client.call('editRoutingTable', { params: ids, body: { routes } })).toEqual({ results: routes });
    expect(await client.call('getRoutingTable', { params: ids })).toEqual({ results: routes });
    const wrong = [
      { destination: '10.1.0.0', target: 'a', description: '' },
      ...routes,
      { destination: '10.1.0.0/16', target: 'b', description: '' },
    ];
    await expect(client.call('editRoutingTable', { params: ids, body: { routes: wrong } })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'routes.0.destination' }, { path: 'routes.2.destination' }],
    });
    expect(await client.call('getRoutingTable', { params: ids })).toEqual({ results: routes });
  });

  test('goes with its organization, credentials and lock included', async () => {
    const { params, ids } = await managed();
    const credentials = await client.call('createAWSCredentials', {
      params,
      body: { name: 'account', type: 'AWS_ROLE', role_arn: 'arn:aws:iam::1:role/x' },
    });
    const body = { credentials: { id: credentials.id } };
    await client.call('specifyClusterCloudProviderInfo', { params: ids, body });
    await client.call('lockCluster', { params: { clusterId: ids.clusterId }, body: { reason: 'x' } });
    await client.call('deleteOrganization', { params });
    await expect(client.call('getOrganization', { params })).rejects.toMatchObject({ status: 404 });
  });
});

test('advanced settings: none is offered, and one that does nothing is refused by its name', async () => {
  const { ids } = await managed();
  expect(await client.call('getDefaultClusterAdvancedSettings')).toEqual({});
  expect(await client.call('getClusterAdvancedSettings', { params: ids })).toEqual({});
  const unknown = { 'newer.setting': 1, 'load_balancer.size': null };
  expect(await client.call('editClusterAdvancedSettings', { params: ids, body: unknown })).toEqual({});
  const known = { 'k8s.api.allowed_public_access_cidrs': ['10.0.0.0/8'] };
  await expect(client.call('editClusterAdvancedSettings', { params: ids, body: known })).rejects.toMatchObject({
    status: 400,
    errors: [{ path: 'k8s.api.allowed_public_access_cidrs' }],
  });
});
