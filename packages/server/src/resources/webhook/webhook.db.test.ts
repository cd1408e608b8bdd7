import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let owner: TestOrganization;
let client: Client;
let params: { organizationId: string };

beforeAll(async () => {
  server = await startTestServer();
  owner = await server.organization('owner');
  client = server.client(owner.tokens.WRITE);
  params = { organizationId: owner.id };
});
afterAll(() => server.close());

const events = ['DEPLOYMENT_STARTED' as const];
const target_url = 'https://hooks.example.org/davit';

test('a webhook is created with defaults, read, listed, edited and deleted', async () => {
  const made = await client.call('createOrganizationWebhook', { params, body: { target_url, events: [...events, ...events] } });
  expect(made).toMatchObject({
    kind: 'STANDARD',
    target_url,
    target_secret_set: false,
    description: '',
    enabled: true,
    events,
    project_names_filter: [],
    environment_types_filter: [],
  });
  const ids = { params: { ...params, webhookId: made.id } };
  expect(await client.call('getOrganizationWebhook', ids)).toEqual(made);
  expect((await client.call('listOrganizationWebHooks', { params })).results).toContainEqual(made);
  const body = {
    kind: 'SLACK' as const,
    target_url: 'http://chat.example.org',
    events: ['DEPLOYMENT_FAILURE' as const],
    description: 'to the chat',
    enabled: false,
    project_names_filter: ['shop*'],
    environment_types_filter: ['PRODUCTION' as const],
  };
  const edited = await client.call('editOrganizationWebhook', { ...ids, body });
  expect(edited).toMatchObject({ id: made.id, ...body });
  const less = { kind: 'SLACK' as const, target_url, events };
  expect(await client.call('editOrganizationWebhook', { ...ids, body: less })).toMatchObject({ ...body, ...less });
  const cleared = { ...less, description: null, project_names_filter: null, environment_types_filter: null };
  expect(await client.call('editOrganizationWebhook', { ...ids, body: cleared })).toMatchObject({
    description: '',
    project_names_filter: [],
    environment_types_filter: [],
  });
  expect((await client.call('listWebhookEvent', ids)).results).toEqual([]);
  await client.call('deleteOrganizationWebhook', ids);
  await expect(client.call('getOrganizationWebhook', ids)).rejects.toMatchObject({ status: 404 });
});

const rows = statement<{ text: string }>('test_webhook_rows', `select webhook::text as text from webhook`);

test('the secret is written only: it stays when it is left out and goes with null', async () => {
  const secret = `s-${randomUUID()}`;
  const made = await client.call('createOrganizationWebhook', { params, body: { target_url, events, target_secret: secret } });
  expect(made.target_secret_set).toBe(true);
  expect(JSON.stringify(made)).not.toContain(secret);
  for (const { text } of await server.database.database.many(rows)) expect(text).not.toContain(secret);
  const ids = { params: { ...params, webhookId: made.id } };
  const body = { kind: 'STANDARD' as const, target_url, events };
  expect(await client.call('editOrganizationWebhook', { ...ids, body })).toMatchObject({ target_secret_set: true });
  const without = { ...body, target_secret: null };
  expect(await client.call('editOrganizationWebhook', { ...ids, body: without })).toMatchObject({ target_secret_set: false });
});

test('a secret goes to no other address than the one that it was given for', async () => {
  const made = await client.call('createOrganizationWebhook', { params, body: { target_url, events, target_secret: 'hush' } });
  const ids = { params: { ...params, webhookId: made.id } };
  const edit = (changes: object) =>
    client.call('editOrganizationWebhook', { ...ids, body: { kind: 'STANDARD', target_url, events, ...changes } });
  const elsewhere = { target_url: 'https://elsewhere.example.org/' };
  await expect(edit(elsewhere)).rejects.toMatchObject({
    status: 400,
    code: 'VALIDATION_FAILED',
    message: expect.stringContaining('target_secret must be sent again'),
  });
  expect(await client.call('getOrganizationWebhook', ids)).toMatchObject({ target_url });
  expect(await edit({ ...elsewhere, target_secret: 'hush' })).toMatchObject({ ...elsewhere, target_secret_set: true });
  expect(await edit({ target_secret: null })).toMatchObject({ target_url, target_secret_set: false });
  expect(await edit(elsewhere)).toMatchObject(elsewhere);
});

test.each([
  ['target_url', { events }],
  ['events', { target_url }],
  ['events', { target_url, events: [] }],
  ['events.0', { target_url, events: ['DEPLOYMENT_SUCCEEDED'] }],
  ['kind', { target_url, events, kind: 'CHAT' }],
  ['target_url', { target_url: 'ftp://example.org', events }],
  ['target_url', { target_url: 'https://user:word@example.org', events }],
  ['target_url', { target_url: 'http://169.254.169.254/latest', events }],
  ['target_url', { target_url: 'http://localhost:4440', events }],
  ['target_secret', { target_url, events, target_secret: 'two\nlines' }],
  ['enabled', { target_url, events, enabled: 'yes' }],
  ['project_names_filter.0', { target_url, events, project_names_filter: [''] }],
  ['environment_types_filter.0', { target_url, events, environment_types_filter: ['TEST'] }],
])('a wrong or missing %s is refused: %j', async (path, body) => {
  const response = await fetch(`${server.baseUrl}/organization/${owner.id}/webhook`, {
    method: 'POST',
    headers: { authorization: `Token ${owner.tokens.WRITE}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(400);
  expect(JSON.parse(await response.text())).toMatchObject({ errors: [{ path }] });
});

test('an edit needs kind, target_url and events', async () => {
  const made = await client.call('createOrganizationWebhook', { params, body: { target_url, events } });
  const response = await fetch(`${server.baseUrl}/organization/${owner.id}/webhook/${made.id}`, {
    method: 'PUT',
    headers: { authorization: `Token ${owner.tokens.WRITE}`, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(response.status).toBe(400);
  const { errors }: { errors: { path: string }[] } = JSON.parse(await response.text());
  expect(errors.map(({ path }) => path).sort()).toEqual(['events', 'kind', 'target_url']);
});

test('another organization finds nothing', async () => {
  const made = await client.call('createOrganizationWebhook', { params, body: { target_url, events } });
  const stranger = await server.organization();
  const other = server.client(stranger.tokens.ADMIN);
  for (const organizationId of [owner.id, stranger.id]) {
    const ids = { params: { organizationId, webhookId: made.id } };
    await expect(other.call('getOrganizationWebhook', ids)).rejects.toMatchObject({ status: 404 });
    await expect(other.call('listWebhookEvent', ids)).rejects.toMatchObject({ status: 404 });
    await expect(other.call('deleteOrganizationWebhook', ids)).rejects.toMatchObject({ status: 404 });
  }
  expect((await other.call('listOrganizationWebHooks', { params: { organizationId: stranger.id } })).results).toEqual([]);
});
