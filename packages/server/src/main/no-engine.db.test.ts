import { createEngine } from '@davit/engine';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readConfiguration } from './config.ts';
import { localDrivers } from './drivers.ts';

/* An installation without a container engine, as in a pod. */

let server: TestServer;
const warnings: string[] = [];
const log = {
  info: () => undefined,
  warn: (_details: object, message: string) => void warnings.push(message),
  error: (_details: object, message: string) => void warnings.push(message),
};
beforeAll(async () => {
  server = await startTestServer({
    engine: (parts) => {
      const { set } = localDrivers(readConfiguration({ DAVIT_LOCAL_ENGINE: 'false' }), parts.settings.installation, log);
      return createEngine({ ...parts, log, drivers: { docker: set } });
    },
  });
  await server.api.engine.start();
});
afterAll(async () => {
  await server.api.engine.stop();
  await server.close();
});

test('a deployment on the cluster Local fails with what to do, nothing else complains, and all of it can be deleted', async () => {
  const client = server.client();
  const { id: organizationId } = await server.organization();
  const params = { organizationId };
  const project = await client.call('createProject', { params, body: { name: 'Dock' } });
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  const registry = await client.call('createContainerRegistry', {
    params,
    body: { name: 'own', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} },
  });
  const body = { name: 'web', registry_id: registry.id, image_name: 'web', tag: '1', healthchecks: {} };
  const { id: containerId } = await client.call('createContainer', { params: { environmentId: environment.id }, body });
  await client.call('deployContainer', { params: { containerId }, body: {} });
  const status = await vi.waitFor(async () => {
    const found = await client.call('getContainerStatus', { params: { containerId } });
    expect(found.state).toBe('DEPLOYMENT_ERROR');
    return found;
  }, 20_000);
  expect(status.failure).toMatchObject({ code: 'ENGINE_UNREACHABLE', hint: expect.stringContaining('cluster_id') });
  await client.call('deleteEnvironment', { params: { environmentId: environment.id } });
  await vi.waitFor(
    () =>
      expect(client.call('getEnvironment', { params: { environmentId: environment.id } })).rejects.toMatchObject({
        code: 'NOT_FOUND',
      }),
    20_000,
  );
  expect(warnings.filter((line) => /keeper|gateway|look/.test(line))).toEqual([]);
});
