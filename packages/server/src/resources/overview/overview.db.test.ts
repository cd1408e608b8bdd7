import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let owner: TestOrganization;
let api: Client;
let organization: { params: { organizationId: string } };
let projectId: string;
let environmentIds: string[];
let serviceIds: string[];

beforeAll(async () => {
  server = await startTestServer();
  owner = await server.organization();
  api = server.client(owner.tokens.WRITE);
  organization = { params: { organizationId: owner.id } };
  projectId = (await api.call('createProject', { ...organization, body: { name: 'shop' } })).id;
  await api.call('createProject', { ...organization, body: { name: 'empty' } });
  environmentIds = [];
  for (const [name, mode] of [
    ['live', 'PRODUCTION'],
    ['test', 'DEVELOPMENT'],
  ] as const) {
    environmentIds.push((await api.call('createEnvironment', { params: { projectId }, body: { name, mode } })).id);
  }
  serviceIds = [];
  for (const [name, environmentId] of [
    ['web', environmentIds[0]],
    ['api', environmentIds[0]],
    ['web', environmentIds[1]],
  ] as const) {
    const body = {
      name,
      description: `the ${name}`,
      dockerfile_path: 'Dockerfile',
      git_repository: { url: 'https://git.example.org/acme/shop.git' },
      ports: [{ internal_port: 80, publicly_accessible: name === 'web' }],
    };
    serviceIds.push((await api.call('createApplication', { params: { environmentId: environmentId ?? '' }, body })).id);
  }
});
afterAll(() => server.close());

test('an organization shows all its environments and services, and where they are', async () => {
  const environments = await api.call('listEnvironmentsByOrganizationId', organization);
  expect(environments.results).toMatchObject([
    { id: environmentIds[0], name: 'live', mode: 'PRODUCTION', project: { id: projectId }, organization: { id: owner.id } },
    { id: environmentIds[1], name: 'test', mode: 'DEVELOPMENT' },
  ]);
  const { results } = await api.call('listServicesByOrganizationId', organization);
  expect(results.map(({ id }) => id)).toEqual(serviceIds);
  expect(results[0]).toMatchObject({
    name: 'web',
    description: 'the web',
    service_type: 'APPLICATION',
    project_id: projectId,
    project_name: 'shop',
    environment_id: environmentIds[0],
    environment_name: 'live',
  });
  expect(results[0]).not.toHaveProperty('job_type');
});

test('one read shows environments with their services, and nothing of other organizations', async () => {
  const { results } = await api.call('getOrganizationOverview', organization);
  expect(results).toMatchObject([
    {
      id: environmentIds[0],
      name: 'live',
      mode: 'PRODUCTION',
      project: { id: projectId, name: 'shop' },
      cluster: { id: expect.any(String), name: expect.any(String) },
      state: 'READY',
      deployment_status: 'NEVER_DEPLOYED',
      last_deployment: null,
      deployment_request_id: null,
      services: [
        { id: serviceIds[0], name: 'web', service_type: 'APPLICATION', state: 'READY', addresses: [], problems: [] },
        { id: serviceIds[1], name: 'api' },
      ],
    },
    { id: environmentIds[1], services: [{ id: serviceIds[2], deployment_status: 'NEVER_DEPLOYED', last_deployment_at: null }] },
  ]);
  const other = await server.organization();
  const theirs = server.client(other.tokens.READ);
  expect(await theirs.call('getOrganizationOverview', { params: { organizationId: other.id } })).toEqual({ results: [] });
  await expect(theirs.call('getOrganizationOverview', organization)).rejects.toMatchObject({ status: 404 });
});

test('services are narrowed down to a project, environment or cluster; one of somebody else has none', async () => {
  const ids = async (query: object): Promise<string[]> =>
    (await api.call('listServicesByOrganizationId', { ...organization, query })).results.map(({ id }) => id);
  expect(await ids({ environment_id: environmentIds[1] })).toEqual([serviceIds[2]]);
  expect(await ids({ project_id: projectId })).toEqual(serviceIds);
  const [row] = (await api.call('listServicesByOrganizationId', organization)).results;
  expect(await ids({ cluster_id: row?.cluster_id })).toEqual(serviceIds);
  expect(await ids({ project_id: randomUUID() })).toEqual([]);
  const stranger = await server.organization();
  const theirs = server.client(stranger.tokens.READ).call('listServicesByOrganizationId', {
    params: { organizationId: stranger.id },
    query: { environment_id: environmentIds[0] ?? '' },
  });
  expect((await theirs).results).toEqual([]);
  await expect(ids({ project_id: 'shop' })).rejects.toMatchObject({ status: 400, errors: [{ path: 'project_id' }] });
});

test('projects and environments are counted, empty ones included', async () => {
  const projects = await api.call('getOrganizationProjectStats', organization);
  expect(projects.results).toMatchObject([
    { id: projectId, service_total_number: 3, environment_total_number: 2 },
    { service_total_number: 0, environment_total_number: 0 },
  ]);
  const environments = await api.call('getProjectEnvironmentServiceNumber', { params: { projectId } });
  expect(environments.results).toEqual([
    { id: environmentIds[0], service_total_number: 2 },
    { id: environmentIds[1], service_total_number: 1 },
  ]);
});

test('a project shows the status of its environments, a stage that of its services', async () => {
  const [first = '', second = ''] = environmentIds;
  const at = { params: { environmentId: first } };
  const before = await api.call('getProjectEnvironmentsStatus', { params: { projectId } });
  expect(before.results).toMatchObject([
    { id: first, state: 'READY', deployment_status: 'NEVER_DEPLOYED' },
    { id: second, state: 'READY' },
  ]);
  const fresh = await api.call('getEnvironmentStatusesWithStages', at);
  expect(fresh.stages.map(({ stage }) => stage.name)).toEqual([
    'DATABASE DEFAULT',
    'JOB DEFAULT',
    'CONTAINER DEFAULT',
    'APPLICATION DEFAULT',
  ]);
  expect(fresh.stages.every(({ stage }) => stage.status === undefined)).toBe(true);

  const request = await api.call('deployEnvironment', at);
  const requestId = request.deployment_request_id ?? '';
  const query = { deploymentRequestId: requestId };
  expect(await api.call('getDeploymentStatusByDeploymentRequestId', { query })).toEqual({
    deployment_request_id: requestId,
    environment_id: first,
    status: 'DEPLOYMENT_QUEUED',
    execution_id: null,
  });
  const overview = await api.call('getProjectEnvironmentsOverview', { params: { projectId } });
  expect(overview.results).toMatchObject([
    {
      id: first,
      cluster: { name: 'Local', is_demo: true, cloud_provider: 'ON_PREMISE' },
      services_overview: { service_count: 2, managed_by: 'SERVICE' },
      deployment_status: { state: 'DEPLOYMENT_QUEUED' },
    },
    { id: second, services_overview: { service_count: 1 }, deployment_status: { state: 'READY' } },
  ]);
  const waiting = await api.call('getEnvironmentStatusesWithStages', at);
  expect(waiting.environment.state).toBe('DEPLOYMENT_QUEUED');
  expect(waiting.stages.map(({ stage }) => stage.status)).toEqual(['SKIPPED', 'SKIPPED', 'SKIPPED', 'QUEUED']);
  expect(waiting.stages[3]?.applications.map(({ id }) => id)).toEqual([serviceIds[0], serviceIds[1]]);
  expect(waiting.stages[3]?.stage.steps).toMatchObject({ total_duration_sec: null, details: [] });
});

test('a request of another organization, or an unknown one, is not found', async () => {
  const [environmentId = ''] = environmentIds;
  const { deployment_request_id } = await api.call('getEnvironmentStatus', { params: { environmentId } });
  const stranger = server.client((await server.organization()).tokens.ADMIN);
  for (const [client, id] of [
    [stranger, deployment_request_id ?? ''],
    [api, randomUUID()],
  ] as const) {
    const call = client.call('getDeploymentStatusByDeploymentRequestId', { query: { deploymentRequestId: id } });
    await expect(call).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
  }
  const words = api.call('getDeploymentStatusByDeploymentRequestId', { query: { deploymentRequestId: 'x' } });
  await expect(words).rejects.toMatchObject({ status: 400, errors: [{ path: 'deploymentRequestId' }] });
});

test('the links of an environment are those of its services', async () => {
  const [environmentId = ''] = environmentIds;
  const { results } = await api.call('listEnvironmentServicesLinks', { params: { environmentId } });
  const own = await api.call('listApplicationLinks', { params: { applicationId: serviceIds[0] ?? '' } });
  expect(results).toEqual(own.results);
  expect(results).toMatchObject([{ service_id: serviceIds[0], service_type: 'APPLICATION', internal_port: 80 }]);
});
