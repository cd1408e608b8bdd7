import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { hasRegistry, startTestRegistry, type TestRegistry } from '@davit/testkit/registry';
import { startTestSite } from '@davit/testkit/site';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
let api: Client;
let organizationId: string;
let at: { params: { environmentId: string } };
beforeAll(async () => {
  server = await startTestServer({
    environment: { DAVIT_ALLOW_PRIVATE_TARGETS: 'true', DAVIT_ALLOW_HTTP_REGISTRIES: 'true' },
  });
  const organization = await server.organization();
  organizationId = organization.id;
  api = server.client(organization.tokens.WRITE);
  const project = await api.call('createProject', { params: { organizationId }, body: { name: 'shop' } });
  const environment = await api.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  at = { params: { environmentId: environment.id } };
});
afterAll(() => server.close());

async function registryAt(
  url: string,
  config: Record<string, string> = {},
  client = api,
  location = organizationId,
): Promise<string> {
  const body = { name: randomUUID(), kind: 'GENERIC_CR', url, config } as const;
  return (await client.call('createContainerRegistry', { params: { organizationId: location }, body })).id;
}

const check = (registry_id: string, image_name: string, tag: string) =>
  api.call('checkContainerImage', { ...at, body: { registry_id, image_name, tag } });
const notThere = {
  status: 400,
  code: 'SOURCE_NOT_USABLE',
  message: expect.stringContaining('IMAGE_NOT_FOUND'),
  errors: [{ path: 'tag' }],
};

describe.skipIf(!hasRegistry)('a real registry', () => {
  let registry: TestRegistry;
  let id: string;
  let digest: string;
  beforeAll(async () => {
    registry = await startTestRegistry();
    digest = await registry.push('team/web', '1.9');
    id = await registryAt(registry.url, { username: registry.username, password: registry.password });
  });
  afterAll(() => registry.close());

  test('is asked for an image by its tag or digest', async () => {
    expect(await check(id, 'team/web', '1.9')).toEqual({});
    expect(await check(id, 'team/web', digest)).toEqual({});
  });

  test('has no such tag, or no such image', async () => {
    await expect(check(id, 'team/web', '2')).rejects.toMatchObject(notThere);
    await expect(check(id, 'team/nope', '1.9')).rejects.toMatchObject(notThere);
    await expect(check(id, 'team/web', `sha256:${'0'.repeat(64)}`)).rejects.toMatchObject(notThere);
  });

  test('refuses wrong credentials, which nobody is told', async () => {
    const wrong = await registryAt(registry.url, { username: registry.username, password: 'canary-wrong' });
    const call = check(wrong, 'team/web', '1.9');
    await expect(call).rejects.toMatchObject({ status: 424, code: 'REMOTE_REFUSED' });
    await expect(call).rejects.not.toMatchObject({ message: expect.stringContaining('canary') });
  });
});

test('an image that is for other processors only is told with them', async () => {
  const manifests = [
    { platform: { os: 'linux', architecture: 's390x' } },
    { platform: { os: 'windows', architecture: 'amd64' } },
  ];
  const site = await startTestSite((_request, response) => response.end(JSON.stringify({ manifests })));
  const call = check(await registryAt(site.url), 'web', '1');
  await expect(call).rejects.toMatchObject({ ...notThere, message: expect.stringContaining('linux/s390x, windows/amd64') });
  await site.close();
});

test('a registry that is away, asked too often or none at all is told', async () => {
  const away = check(await registryAt('http://127.0.0.1:1'), 'web', '1');
  await expect(away).rejects.toMatchObject({ status: 424, code: 'REMOTE_UNREACHABLE' });
  const busy = await startTestSite((_request, response) => response.writeHead(429).end());
  const often = check(await registryAt(busy.url), 'web', '1');
  await expect(often).rejects.toMatchObject({
    status: 424,
    code: 'REMOTE_REFUSED',
    message: expect.stringContaining('rate limit was reached'),
  });
  await busy.close();
  const page = await startTestSite((_request, response) => response.end('<html>'));
  await expect(check(await registryAt(page.url), 'web', '1')).rejects.toMatchObject({ code: 'REMOTE_NOT_UNDERSTOOD' });
  await page.close();
});

test('names are checked before anything is sent, and only registries of the organization are asked', async () => {
  const own = await registryAt('http://127.0.0.1:1');
  await expect(check(own, 'Web', '-')).rejects.toMatchObject({ status: 400, errors: [{ path: 'image_name' }, { path: 'tag' }] });
  const stranger = await server.organization();
  const theirs = await registryAt('http://127.0.0.1:1', {}, server.client(stranger.tokens.WRITE), stranger.id);
  for (const id of [theirs, randomUUID()]) {
    await expect(check(id, 'web', '1')).rejects.toMatchObject({ code: 'INVALID_REFERENCE', errors: [{ path: 'registry_id' }] });
  }
});
