import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { DriverError } from '@davit/drivers';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

let server: RunningServer;
let api: Client;
let serviceId: string;
let containerId: string;
let environmentId: string;

beforeAll(async () => {
  server = await startRunningServer();
  const { organizationId, ...ids } = await makeTestEnvironment(server);
  ({ api, environmentId } = ids);
  const registry = { name: 'hub', kind: 'GENERIC_CR' as const, url: 'https://registry.example.org/team', config: {} };
  const { id: registry_id } = await api.call('createContainerRegistry', { params: { organizationId }, body: registry });
  const body = { name: 'cache', registry_id, image_name: 'cache', tag: '7' };
  containerId = (await api.call('createContainer', { params: { environmentId }, body })).id;
  serviceId = containerId;
});
afterAll(() => server.close());

const history = async () => (await api.call('listContainerDeploymentHistoryV2', { params: { containerId } })).results;

/** Deploys, and returns the release once the deployment has ended in the state. */
async function deployed(state: string): Promise<string> {
  const former = (await history()).length;
  await api.call('deployContainer', { params: { containerId } });
  const status = await vi.waitFor(async () => {
    const [latest, ...before] = await history();
    expect({ status: latest?.status, before: before.length }).toEqual({ status: state, before: former });
    return latest;
  }, 20_000);
  return status?.release_id ?? '';
}

const setTag = (tag: string) => api.call('editContainer', { params: { containerId }, body: { tag } });
const variable = (key: string, value: string) =>
  api.call('createContainerEnvironmentVariable', { params: { containerId }, body: { key, value } });
const compare = (query: { from?: string; to?: string } = {}) =>
  api.call('compareServiceReleases', { params: { serviceId }, query });

test('a failure names what changed since the service worked, and no page shows what became a secret', async () => {
  expect(await compare()).toEqual({ from: null, to: null, changes: [] });

  const password = await variable('PASSWORD', 'sesame-opens');
  await variable('URL', 'pg://me:{{PASSWORD}}@host');
  await variable('MODE', 'slow');
  const first = await deployed('DEPLOYED');
  const read = await api.call('getServiceRelease', { params: { serviceId, releaseId: first } });
  expect(read).toMatchObject({ id: first, commit: null, created_by: expect.any(String) });
  const shown = Object.fromEntries(read.settings.map(({ path, value }) => [path, value]));
  expect(shown).toMatchObject({
    'source.tag': '7',
    'variables.PASSWORD': 'sesame-opens',
    'variables.URL': 'pg://me:sesame-opens@host',
  });
  expect(await compare()).toMatchObject({ from: { id: first }, to: null, changes: [] });

  await api.call('deleteContainerEnvironmentVariable', { params: { containerId, environmentVariableId: password.id } });
  await api.call('createContainerSecret', { params: { containerId }, body: { key: 'PASSWORD', value: 'sesame-closed' } });
  await setTag('8');
  // Already before the next deployment.
  const hidden = await api.call('getServiceRelease', { params: { serviceId, releaseId: first } });
  expect(JSON.stringify([hidden, await compare()])).not.toContain('sesame');

  server.fake.script = {
    before: ({ method }) => {
      if (method === 'start') throw new DriverError({ cause: 'IMAGE_NOT_FOUND', message: 'there is none' });
    },
  };
  const second = await deployed('DEPLOYMENT_ERROR');
  server.fake.script = {};
  const changes = [
    { path: 'image_digest', kind: 'CHANGED' },
    { path: 'source.tag', kind: 'CHANGED' },
    { path: 'variables.PASSWORD', kind: 'CHANGED' },
    { path: 'variables.URL', kind: 'CHANGED' },
  ];
  const changed_since_success = { release_id: first, at: expect.any(String), total: 4, changes };
  const { failure } = await api.call('getContainerStatus', { params: { containerId } });
  expect(failure).toMatchObject({ changed_since_success });
  const { results } = await api.call('listContainerDeploymentHistoryV2', { params: { containerId } });
  expect(results.map((entry) => entry.failure)).toMatchObject([{ changed_since_success }, null]);

  const log = await api.call('listEnvironmentLogs', { params: { environmentId } });
  expect(log.map(({ message }) => message?.safe_message)).toContain(
    'cache: changed since it last worked: image_digest (changed), source.tag (changed), variables.PASSWORD (changed), variables.URL (changed).',
  );

  const compared = await compare({ to: second });
  expect(compared).toMatchObject({ from: { id: first }, to: { id: second } });
  expect(compared.changes.map(({ path, before, after, secret }) => [path, before, after, secret])).toEqual([
    ['image_digest', expect.any(String), expect.any(String), false],
    ['source.tag', '7', '8', false],
    ['variables.PASSWORD', null, null, true],
    ['variables.URL', null, null, true],
  ]);
  expect(await compare({ from: second, to: first })).toMatchObject({ changes: [{}, { before: '8', after: '7' }, {}, {}] });

  // Also after the secret is gone.
  const { results: secrets } = await api.call('listContainerSecrets', { params: { containerId } });
  for (const { id: secretId, key } of secrets)
    if (key === 'PASSWORD') await api.call('deleteContainerSecret', { params: { containerId, secretId } });
  const all = await Promise.all(
    [first, second].map((releaseId) => api.call('getServiceRelease', { params: { serviceId, releaseId } })),
  );
  expect(JSON.stringify([all, await compare({ from: first }), await compare({ from: first, to: second })])).not.toContain(
    'sesame',
  );

  // Also in a text that was written by hand later, where neither shown release has the former value by its name.
  await variable('COPY', '["--password=sesame-opens"]');
  const third = await deployed('DEPLOYED');
  const copied = [
    await api.call('getServiceRelease', { params: { serviceId, releaseId: third } }),
    await compare({ from: second, to: third }),
  ];
  expect(JSON.stringify(copied)).toContain('variables.COPY');
  expect(JSON.stringify(copied)).not.toContain('sesame-opens');

  const strange = compare({ from: randomUUID() });
  await expect(strange).rejects.toMatchObject({ status: 404 });
});

test('a secret that was renamed or deleted before any deployment still hides the plain value that it had', async () => {
  const token = await variable('TOKEN', 'lamp-plain');
  await variable('HEADER', 'Bearer {{TOKEN}}');
  const params = { environmentId };
  const wide = await api.call('createEnvironmentEnvironmentVariable', { params, body: { key: 'WIDE', value: 'genie-plain' } });
  const releaseId = await deployed('DEPLOYED');
  const shown = async () => JSON.stringify(await api.call('getServiceRelease', { params: { serviceId, releaseId } }));
  expect(await shown()).toContain('lamp-plain');
  expect(await shown()).toContain('genie-plain');

  await api.call('deleteContainerEnvironmentVariable', { params: { containerId, environmentVariableId: token.id } });
  const body = { key: 'TOKEN', value: 'lamp-secret' };
  const secret = await api.call('createContainerSecret', { params: { containerId }, body });
  expect(await shown()).not.toContain('lamp');
  await api.call('editContainerSecret', { params: { containerId, secretId: secret.id }, body: { key: 'OTHER' } });
  expect(await shown()).not.toContain('lamp');

  await api.call('deleteEnvironmentEnvironmentVariable', { params: { environmentId, environmentVariableId: wide.id } });
  const wideSecret = await api.call('createEnvironmentSecret', { params, body: { key: 'WIDE', value: 'genie-secret' } });
  await api.call('deleteEnvironmentSecret', { params: { environmentId, secretId: wideSecret.id } });
  expect(await shown()).not.toContain('genie');
  expect(await shown()).not.toContain('lamp');
});
