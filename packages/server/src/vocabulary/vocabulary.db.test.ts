import type { IncomingHttpHeaders } from 'node:http';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { startTestSite } from '@davit/testkit/site';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebhookDeliverer, webhookWords } from '../resources/webhook/index.ts';

/* Clients that know this API under other words use it under the base path of a vocabulary. */

const base = '/v/public';
let server: RunningServer;
let receiver: Awaited<ReturnType<typeof startTestSite>>;
let deliverer: WebhookDeliverer;
let organizationId: string;
let environmentId: string;
const received: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = [];

beforeAll(async () => {
  receiver = await startTestSite(({ url = '', headers }, response) => {
    received.push({ path: url, headers });
    response.end();
  });
  server = await startRunningServer({ DAVIT_VOCABULARY: `${base}=public`, DAVIT_ALLOW_PRIVATE_TARGETS: 'true' });
  const { database } = server.database;
  const { vault, counts, vocabulary } = server.api.deps;
  if (vocabulary === null) throw new Error('the server has no vocabulary');
  const words = webhookWords(vocabulary);
  const log = { warn: (): void => undefined };
  deliverer = new WebhookDeliverer({ database, vault, counts, words, allowPrivateTargets: true, version: '1', log });
  const organization = await server.organization('shop');
  organizationId = organization.id;
  const project = await ask('POST', `${base}/organization/${organizationId}/project`, { name: 'shop' });
  const environment = await ask('POST', `${base}/project/${String(project.body['id'])}/environment`, { name: 'live' });
  environmentId = String(environment.body['id']);
});
afterAll(async () => {
  await deliverer?.stop();
  await server?.close();
  await receiver?.close();
});

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function ask(method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const response = await fetch(`${server.baseUrl}${path}`, {
    method,
    headers: { authorization: `Token ${server.adminToken}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}

const application = (url: string, more: object = {}): object => ({
  name: `web-${Math.random().toString(36).slice(2)}`,
  dockerfile_path: 'Dockerfile',
  healthchecks: {},
  git_repository: { url, ...more },
});

test('paths, names and values are those of the client, and the contract has its own', async () => {
  const keys = { scaleway_access_key: 'a', scaleway_secret_key: 'b', scaleway_project_id: 'p', scaleway_organization_id: 'o' };
  const path = `/organization/${organizationId}/scaleway/credentials`;
  const made = await ask('POST', `${base}${path}`, { name: 'cloud', ...keys });
  expect(made).toMatchObject({ status: 201, body: { object_type: 'SCW', scaleway_access_key: 'a' } });
  const own = await ask('GET', `/organization/${organizationId}/vendora/credentials/${String(made.body['id'])}`);
  expect(own.body).toMatchObject({ object_type: 'VENDORA', vendora_access_key: 'a' });
  // The client may also use the contract's words.
  const both = await ask('GET', `${base}/organization/${organizationId}/vendora/credentials/${String(made.body['id'])}`);
  expect(both.body).toEqual(made.body);
  const types = await ask('GET', `${base}/azure/aks/instanceType/francecentral`);
  expect(types).toMatchObject({ status: 200, body: { results: expect.any(Array) } });
  expect((await ask('GET', path)).status).toBe(404);
});

test('an error names the fields and the values of the client', async () => {
  const path = `${base}/organization/${organizationId}`;
  const missing = await ask('POST', `${path}/scaleway/credentials`, { name: 'cloud' });
  expect(missing).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  expect(missing.body['errors']).toContainEqual({ path: 'scaleway_secret_key', message: 'is required' });
  expect(missing.body['message']).toContain('scaleway_');
  const wrong = await ask('POST', `${path}/gitToken`, { name: 'git', type: 'SOURCEHUT', token: 't' });
  expect(wrong.body['errors']).toMatchObject([{ path: 'type', message: expect.stringContaining('GITHUB, GITLAB, BITBUCKET') }]);
});

test('texts of users stay as they are', async () => {
  const { body: made } = await ask('POST', `${base}/environment/${environmentId}/application`, {
    ...application('https://github.com/shop/web.git', { provider: 'GITHUB' }),
    name: 'HOSTA',
    description: 'VENDORA',
  });
  expect(made).toMatchObject({ name: 'HOSTA', description: 'VENDORA', git_repository: { provider: 'GITHUB' } });
  const variable = `${base}/application/${String(made['id'])}/environmentVariable`;
  expect(await ask('POST', variable, { key: 'HOST', value: 'HOSTA' })).toMatchObject({ status: 201, body: { value: 'HOSTA' } });
  const { body: all } = await ask('GET', variable);
  const keys = JSON.stringify(all);
  expect(keys).toContain('"QOVERY_PROJECT_ID"');
  expect(keys).not.toContain('DAVIT_');
});

test('a host that the client does not know is answered as one that it knows, and an edit does not change it', async () => {
  const url = 'https://git.example.org/shop/web.git';
  const { body: made } = await ask('POST', `/environment/${environmentId}/application`, application(url));
  const path = `/application/${String(made['id'])}`;
  const { body: read } = await ask('GET', `${base}${path}`);
  expect(read).toMatchObject({ git_repository: { provider: 'GITLAB' } });
  expect(await ask('PUT', `${base}${path}`, read)).toMatchObject({
    status: 200,
    body: { git_repository: { provider: 'GITLAB' } },
  });
  expect((await ask('GET', path)).body).toMatchObject({ git_repository: { provider: 'GENERIC', url } });
});

test('a git token of such a host is answered as one that the client knows, and stays what it is until its address changes', async () => {
  const tokens = `/organization/${organizationId}/gitToken`;
  const fields = { name: 'forge', type: 'GENERIC', token: 'sesame', git_api_url: 'https://git.example.org/api' };
  const { body: made } = await ask('POST', tokens, fields);
  const path = `${tokens}/${String(made['id'])}`;
  const { body: read } = await ask('GET', `${base}${path}`);
  expect(read).toMatchObject({ type: 'GITLAB' });
  expect((await ask('GET', `${base}${tokens}`)).body).toMatchObject({ results: [{ type: 'GITLAB' }] });
  const edited = { name: 'forge two', type: read['type'], git_api_url: read['git_api_url'] };
  expect(await ask('PUT', `${base}${path}`, edited)).toMatchObject({ status: 200, body: { name: 'forge two', type: 'GITLAB' } });
  expect((await ask('GET', path)).body).toMatchObject({ type: 'GENERIC', name: 'forge two' });
  const moved = { ...edited, token: 'sesame', git_api_url: 'https://gitlab.example.org/api/v4' };
  expect(await ask('PUT', `${base}${path}`, moved)).toMatchObject({ status: 200 });
  expect((await ask('GET', path)).body).toMatchObject({ type: 'HOSTB' });
});

test('a repeated request with the same key gets the same words', async () => {
  const body = application('https://github.com/shop/again.git', { provider: 'GITHUB' });
  const send = () => ask('POST', `${base}/environment/${environmentId}/application`, body, { 'idempotency-key': 'once' });
  const first = await send();
  expect(first).toMatchObject({ status: 201, body: { git_repository: { provider: 'GITHUB' } } });
  expect(await send()).toEqual(first);
});

test('deliveries have the headers that the creator of the webhook knows, until its address changes', async () => {
  const hook = {
    target_url: `${receiver.url}/theirs`,
    events: ['DEPLOYMENT_STARTED'],
    target_secret: 'sesame',
    kind: 'STANDARD',
  };
  const webhooks = `/organization/${organizationId}/webhook`;
  const { body: made } = await ask('POST', `${base}${webhooks}`, {
    ...hook,
    project_names_filter: [],
    environment_types_filter: [],
  });
  await ask('POST', webhooks, { ...hook, target_url: `${receiver.url}/own` });
  const { body: service } = await ask(
    'POST',
    `/environment/${environmentId}/application`,
    application('https://git.example.org/a/b.git'),
  );
  const deploy = () => ask('POST', `/application/${String(service['id'])}/deploy`);
  const last = async (path: string): Promise<IncomingHttpHeaders> => {
    await expect
      .poll(() => (deliverer.look(), received.filter((one) => one.path === path).length), { timeout: 30_000 })
      .toBeGreaterThan(0);
    return received.findLast((one) => one.path === path)?.headers ?? {};
  };
  expect(await deploy()).toMatchObject({ status: 202 });
  expect(await last('/theirs')).toMatchObject({ 'qovery-signature': 'sesame', 'qovery-signature-256': expect.any(String) });
  expect(await last('/own')).toMatchObject({ 'service-signature': 'sesame' });
  // An edit by other words keeps those of the webhook as long as the receiver is the same.
  const at = `${webhooks}/${String(made['id'])}`;
  await ask('PUT', at, { ...hook, description: 'edited' });
  received.length = 0;
  await deploy();
  expect(await last('/theirs')).toHaveProperty('qovery-signature');
  await ask('PUT', at, { ...hook, target_url: `${receiver.url}/moved` });
  await deploy();
  expect(await last('/moved')).toHaveProperty('service-signature');
});

test('streams are served under the base path', async () => {
  const stop = new AbortController();
  const response = await fetch(`${server.baseUrl}${base}/organization/${organizationId}/stream`, {
    headers: { authorization: `Token ${server.adminToken}` },
    signal: stop.signal,
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('event: OPEN')) break;
  }
  expect(text).toContain('event: OPEN');
  stop.abort();
});

test('the document of the base path is in the words of the client', async () => {
  const { status, body } = await ask('GET', `${base}/openapi.json`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ servers: [{ url: base }], paths: { '/organization/{organizationId}/scaleway/credentials': {} } });
});

test('the examples of the base path are in the words of the client', async () => {
  const { status, body } = await ask('GET', `${base}/examples/createVendoraCredentials/request`);
  expect({ status, body }).toMatchObject({ status: 200, body: { scaleway_access_key: '<access key>' } });
  expect((await ask('GET', '/examples/createVendoraCredentials/request')).body).toHaveProperty('vendora_access_key');
  const stream = await fetch(`${server.baseUrl}${base}/examples/streamDeployment/answer`);
  expect(await stream.text()).toMatch(/^event: DEPLOYMENT\ndata: \{/m);
});
