import { setTimeout } from 'node:timers/promises';
import type { Client } from '@davit/client';
import { DriverError, type FakeCluster } from '@davit/drivers';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Background } from '../../background/background.ts';

let server: RunningServer;
let client: Client;
let fake: FakeCluster;
let environmentId: string;
let registryId: string;

beforeAll(async () => {
  server = await startRunningServer({ DAVIT_GATEWAY_HTTPS_PORT: '4443' });
  ({ fake } = server);
  const environment = await makeTestEnvironment(server);
  ({ environmentId } = environment);
  client = server.client();
  const params = { organizationId: environment.organizationId };
  const registry = { name: 'images', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} } as const;
  registryId = (await client.call('createContainerRegistry', { params, body: registry })).id;
});
afterAll(() => server.close());

async function container(name: string, isPublic: boolean): Promise<string> {
  const ports = [{ internal_port: 80, publicly_accessible: isPublic }];
  const body = { name, registry_id: registryId, image_name: 'web', tag: '1', healthchecks: {}, ports };
  return (await client.call('createContainer', { params: { environmentId }, body })).id;
}

const read = (serviceId: string, serviceType = 'CONTAINER') =>
  client.call('getIngressDeploymentStatus', { params: { serviceType, serviceId } });

async function becomes(serviceId: string, status: string): Promise<void> {
  const until = Date.now() + 20_000;
  for (;;) {
    const seen = (await read(serviceId)).status;
    if (seen === status) return;
    if (Date.now() > until) throw new Error(`it is ${seen}, not ${status}`);
    await setTimeout(20);
  }
}

test('tells from deployment to stop whether the gateway serves a service', async () => {
  const id = await container('web', true);
  expect(await read(id)).toEqual({ status: 'READY' });
  await client.call('deployContainer', { params: { containerId: id } });
  await becomes(id, 'DEPLOYED');
  const { routerId } = await read(id);
  expect(routerId).toMatch(/^[0-9a-f-]{36}$/);
  expect(await read(id, 'container')).toEqual({ routerId, status: 'DEPLOYED' });
  // The only instance of the service exits and is not restarted.
  fake.script = {
    before: ({ method }) => {
      if (method === 'revive') throw new DriverError({ cause: 'ENGINE_FAILED', message: 'not now' });
    },
  };
  const instance = fake.instances.find(({ service }) => service === id);
  fake.kill(instance?.id ?? '', 1);
  await becomes(id, 'UNAVAILABLE');
  fake.script = {};
  await becomes(id, 'DEPLOYED');
  await client.call('stopContainer', { params: { containerId: id } });
  await becomes(id, 'STOPPED');
  expect(await read(id)).toEqual({ routerId, status: 'STOPPED' });
});

test('a service is served once the certificates of its domains are there', async () => {
  const id = await container('shop', true);
  const params = { containerId: id };
  await client.call('createContainerCustomDomain', { params, body: { domain: 'shop.example.org', generate_certificate: true } });
  await client.call('deployContainer', { params });
  await becomes(id, 'DEPLOYING');
  for (const until = Date.now() + 20_000; Date.now() < until; await setTimeout(20)) {
    if ((await client.call('getContainerStatus', { params })).state === 'DEPLOYED') break;
  }
  // The service answers requests, but the certificate is missing.
  expect((await read(id)).status).toBe('DEPLOYING');
  const { connectionString } = server.database;
  const { deps } = server.api;
  const background = new Background({
    deps,
    connectionString,
    version: '1',
    log: { info: () => undefined, warn: () => undefined },
  });
  await background.start();
  try {
    await becomes(id, 'DEPLOYED');
  } finally {
    await background.stop();
  }
});

test('a service that nothing outside reaches has no router', async () => {
  const id = await container('cache', false);
  await client.call('deployContainer', { params: { containerId: id } });
  await becomes(id, 'READY');
  expect(await read(id)).toEqual({ status: 'READY' });
});

test('types without routes, and ids of another type, are not found', async () => {
  const id = await container('other', true);
  for (const type of ['APPLICATION', 'HELM', 'DATABASE', 'JOB', 'x', '%00']) {
    await expect(read(id, type)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
  }
});
