import { randomUUID } from 'node:crypto';
import { ApiError, type Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

/* Concurrent reads of one record share one statement: each must return the same result as if it ran alone. */

let server: TestServer;
let api: Client;
let stranger: Client;
let environmentId: string;
const projectIds: string[] = [];
const applicationIds: string[] = [];
let containerId: string;
let helmId: string;

beforeAll(async () => {
  server = await startTestServer();
  const { id: organizationId, tokens } = await server.organization('acme');
  api = server.client(tokens.WRITE);
  stranger = server.client((await server.organization('other')).tokens.WRITE);
  const params = { organizationId };
  for (let index = 0; index < 5; index += 1) {
    projectIds.push((await api.call('createProject', { params, body: { name: `p${index}` } })).id);
  }
  const inProject = { projectId: projectIds[0] ?? '' };
  environmentId = (await api.call('createEnvironment', { params: inProject, body: { name: 'production' } })).id;
  const inEnvironment = { environmentId };
  const git = { url: 'https://git.example.org/acme/shop.git' };
  const token = await api.call('createGitToken', { params, body: { name: 'robot', type: 'HOSTA', token: 'secret' } });
  for (let index = 0; index < 5; index += 1) {
    const git_repository = index % 2 === 0 ? git : { ...git, git_token_id: token.id };
    const body = { name: `a${index}`, dockerfile_path: 'Dockerfile', git_repository };
    applicationIds.push((await api.call('createApplication', { params: inEnvironment, body })).id);
  }
  const registry = await api.call('createContainerRegistry', {
    params,
    body: { name: 'own', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: { username: 'a', password: 'b' } },
  });
  const container = { name: 'c', registry_id: registry.id, image_name: 'shop', tag: '1' };
  containerId = (await api.call('createContainer', { params: inEnvironment, body: container })).id;
  const repository = await api.call('createHelmRepository', {
    params,
    body: { name: 'charts', kind: 'HTTPS', url: 'https://charts.example.org', config: {}, skip_tls_verification: false },
  });
  const source = { helm_repository: { repository: repository.id, chart_name: 'shop', chart_version: '1.0.0' } };
  const chart = { name: 'h', source, timeout_sec: 600, auto_deploy: false, arguments: [], allow_cluster_wide_resources: false };
  helmId = (await api.call('createHelm', { params: inEnvironment, body: { ...chart, values_override: {} } })).id;
});

afterAll(() => server.close());

const project = (client: Client, projectId: string): Promise<unknown> => client.call('getProject', { params: { projectId } });
const application = (client: Client, applicationId: string): Promise<unknown> =>
  client.call('getApplication', { params: { applicationId } });
const container = (client: Client, id: string): Promise<unknown> => client.call('getContainer', { params: { containerId: id } });
const helm = (client: Client, id: string): Promise<unknown> => client.call('getHelm', { params: { helmId: id } });

/** Returns the record, or the status with which the read is refused. */
async function outcome(read: () => Promise<unknown>): Promise<unknown> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ApiError) return `${error.status} ${error.message}`;
    throw error;
  }
}

test('many reads at once answer what each answers alone, refusals among them', async () => {
  const ways = [
    ...projectIds.map((id) => () => project(api, id)),
    ...applicationIds.map((id) => () => application(api, id)),
    () => container(api, containerId),
    () => helm(api, helmId),
    // A caller that may read all organizations.
    () => application(server.client(), applicationIds[0] ?? ''),
    // Records of another organization, missing records, and records of another type.
    () => project(stranger, projectIds[0] ?? ''),
    () => application(stranger, applicationIds[0] ?? ''),
    () => project(api, randomUUID()),
    () => application(api, randomUUID()),
    () => application(api, containerId),
    () => container(api, applicationIds[0] ?? ''),
  ];
  const alone: unknown[] = [];
  for (const way of ways) alone.push(await outcome(way));
  expect(alone.filter((one) => typeof one === 'string')).toHaveLength(6);
  const rounds = 8;
  const together = await Promise.all(Array.from({ length: rounds }, () => ways.map((way) => outcome(way))).flat());
  expect(together).toEqual(Array.from({ length: rounds }, () => alone).flat());
});

test('a read that begins after a change has been answered tells of it, however many others are read', async () => {
  const [id = ''] = projectIds;
  for (let index = 0; index < 20; index += 1) {
    const busy = Promise.all(Array.from({ length: 30 }, () => project(api, id)));
    const description = `changed ${index}`;
    await api.call('editProject', { params: { projectId: id }, body: { name: 'p0', description } });
    expect(await project(api, id)).toMatchObject({ description });
    await busy;
  }
});
