import { randomUUID } from 'node:crypto';
import type { CallInput, Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let organizationId: string;
let environmentId: string;
let registryId: string;
beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
  organizationId = (await server.organization()).id;
  const project = await client.call('createProject', { params: { organizationId }, body: { name: 'shop' } });
  environmentId = (await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } })).id;
  registryId = await registry('https://registry.example.org/team/');
});
afterAll(() => server.close());

type Body = CallInput<'createContainer'>['body'];
const container = (body: Partial<Body> = {}) =>
  client.call('createContainer', {
    params: { environmentId },
    body: { name: randomUUID(), registry_id: registryId, image_name: 'cache', tag: '7', ...body },
  });

async function registry(url: string, location = organizationId): Promise<string> {
  const body = { name: randomUUID(), kind: 'GENERIC_CR' as const, url, config: {} };
  return (await client.call('createContainerRegistry', { params: { organizationId: location }, body })).id;
}

describe('a container', () => {
  test('has the documented defaults, is read, listed, edited and deleted', async () => {
    const made = await container({ name: 'Cache' });
    expect(made).toMatchObject({
      name: 'Cache',
      service_type: 'CONTAINER',
      image_name: 'cache',
      tag: '7',
      registry_id: registryId,
      registry: { id: registryId, url: 'https://registry.example.org/team/', kind: 'GENERIC_CR' },
      cpu: 500,
      memory: 512,
      gpu: 0,
      maximum_gpu: 0,
      min_running_instances: 1,
      max_running_instances: 1,
      auto_preview: false,
      healthchecks: { readiness_probe: null, liveness_probe: null },
      icon_uri: 'app://davit-console/container',
    });
    const params = { containerId: made.id };
    expect(await client.call('getContainer', { params })).toEqual(made);
    const { results } = await client.call('listContainer', { params: { environmentId } });
    expect(results).toContainEqual(made);
    const edited = await client.call('editContainer', { params, body: { tag: '8', cpu: 250 } });
    expect(edited).toMatchObject({ tag: '8', cpu: 250, image_name: 'cache', registry: { id: registryId } });
    const stage = await client.call('getServiceDeploymentStage', { params: { serviceId: made.id } });
    expect(stage.name).toBe('CONTAINER DEFAULT');
    await client.call('deleteContainer', { params });
    await expect(client.call('getContainer', { params })).rejects.toMatchObject({ status: 404 });
  });

  test('stands beside applications, each with the fields of its type, and is found under its own type only', async () => {
    const made = await container();
    const application = await client.call('createApplication', {
      params: { environmentId },
      body: {
        name: randomUUID(),
        dockerfile_path: 'Dockerfile',
        git_repository: { url: 'https://git.example.org/shop/web.git' },
      },
    });
    const { results } = await client.call('listServicesByEnvironmentId', { params: { environmentId } });
    expect(results).toContainEqual(made);
    expect(results).toContainEqual(application);
    const calls = await Promise.allSettled([
      client.call('getApplication', { params: { applicationId: made.id } }),
      client.call('stopApplication', { params: { applicationId: made.id } }),
      client.call('deleteContainer', { params: { containerId: application.id } }),
    ]);
    for (const call of calls) expect(call).toMatchObject({ status: 'rejected', reason: { status: 404 } });
    const applications = await client.call('listApplication', { params: { environmentId } });
    expect(applications.results.map(({ id }) => id)).not.toContain(made.id);
  });

  test.each([
    [{ image_name: 'Team/Cache' }, 'image_name'],
    [{ image_name: 'cache:7' }, 'image_name'],
    [{ tag: '-x' }, 'tag'],
    [{ tag: 'sha256:abc' }, 'tag'],
    [{ cpu: 5 }, 'cpu'],
  ] as const)('with %j is refused at that field', async (body, path) => {
    await expect(container(body)).rejects.toMatchObject({ status: 400, errors: [{ path }] });
  });

  test('takes a registry of its own organization only, which cannot be deleted while it is used', async () => {
    const elsewhere = await registry('https://registry.example.org', (await server.organization()).id);
    const refusal = { status: 400, code: 'INVALID_REFERENCE', errors: [{ path: 'registry_id' }] };
    await expect(container({ registry_id: elsewhere })).rejects.toMatchObject(refusal);
    await expect(container({ registry_id: randomUUID() })).rejects.toMatchObject(refusal);
    const own = await registry('https://other.example.org');
    const made = await container({ name: 'user of it', registry_id: own });
    const ids = { organizationId, containerRegistryId: own };
    const inUse = { status: 409, code: 'IN_USE', message: expect.stringContaining('user of it') };
    await expect(client.call('deleteContainerRegistry', { params: ids })).rejects.toMatchObject(inUse);
    await client.call('editContainer', { params: { containerId: made.id }, body: { registry_id: registryId } });
    await client.call('deleteContainerRegistry', { params: ids });
  });

  test('is deployed at its tag, at another one that it keeps, and has built-ins without a commit', async () => {
    const made = await container();
    const params = { containerId: made.id };
    const status = await client.call('deployContainer', { params, body: { image_tag: '9' } });
    expect(status).toMatchObject({
      id: made.id,
      state: 'DEPLOYMENT_QUEUED',
      status_details: { action: 'DEPLOY', status: 'QUEUED' },
    });
    expect((await client.call('getContainer', { params })).tag).toBe('9');
    const both = { image_tag: '9', release_id: randomUUID() };
    await expect(client.call('deployContainer', { params, body: both })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'release_id' }],
    });
    const wrong = client.call('deployContainer', { params, body: { image_tag: '-' } });
    await expect(wrong).rejects.toMatchObject({ status: 400, errors: [{ path: 'image_tag' }] });
    expect((await client.call('getContainer', { params })).tag).toBe('9');
  });
});
