import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebhookDeliverer } from './index.ts';

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: { readonly event_type: string; readonly payload: Record<string, unknown> };
}

let server: RunningServer;
let deliverer: WebhookDeliverer;
let receiver: Server;
let address: string;
let api: Client;
let organizationId: string;
const received: Received[] = [];
/** Statuses to respond with, by path, first to last; then 200. */
const answers = new Map<string, number[]>();

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const path = request.url ?? '';
      received.push({ path, headers: request.headers, text, body: JSON.parse(text) });
      const status = answers.get(path)?.shift() ?? 200;
      if (status === 302) response.setHeader('location', '/elsewhere');
      response.writeHead(status).end(`answered ${status}`);
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const bound = receiver.address();
  address = `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`;
  server = await startRunningServer({ DAVIT_ALLOW_PRIVATE_TARGETS: 'true' });
  deliverer = newDeliverer(true);
  const organization = await server.organization();
  organizationId = organization.id;
  api = server.client(organization.tokens.WRITE);
});

afterAll(async () => {
  await deliverer.stop();
  await server.close();
  receiver.closeAllConnections();
  receiver.close();
});

function newDeliverer(allowPrivateTargets: boolean): WebhookDeliverer {
  const { database } = server.database;
  const log = { warn: (details: object, message: string): void => console.warn(message, details) };
  const { vault, counts } = server.api.deps;
  return new WebhookDeliverer({ database, vault, counts, allowPrivateTargets, version: '1', log });
}

async function makeApplication(
  project: string,
  mode: 'DEVELOPMENT' | 'PRODUCTION',
): Promise<{ id: string; environmentId: string }> {
  const { id: projectId } = await api.call('createProject', { params: { organizationId }, body: { name: project } });
  const environment = await api.call('createEnvironment', { params: { projectId }, body: { name: 'live', mode } });
  const body = { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
  const { id } = await api.call('createApplication', { params: { environmentId: environment.id }, body });
  return { id, environmentId: environment.id };
}

const all = ['DEPLOYMENT_STARTED', 'DEPLOYMENT_CANCELLED', 'DEPLOYMENT_FAILURE', 'DEPLOYMENT_SUCCESSFUL'] as const;

async function makeWebhook(path: string, body: object = {}): Promise<string> {
  const request = { target_url: `${address}${path}`, events: [...all], ...body };
  return (await api.call('createOrganizationWebhook', { params: { organizationId }, body: request })).id;
}

async function eventually<T>(condition: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const until = Date.now() + 15_000;
  for (;;) {
    const found = await condition();
    if (found !== undefined) return found;
    if (Date.now() > until) throw new Error('waited in vain');
    deliverer.look();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const at = (path: string): Received[] => received.filter((one) => one.path === path);

async function deploy(applicationId: string): Promise<void> {
  await api.call('deployApplication', { params: { applicationId } });
  // A service is finished before its deployment is.
  await eventually(async () => ((await server.database.database.one(open)).count === 0 ? true : undefined));
}

const open = statement<{ count: number }>(
  'test_deployments_open',
  `select count(*) from deployment where status in ('QUEUED', 'RUNNING')`,
);

const waiting = statement<{ count: number }>(
  'test_deliveries_waiting',
  'select count(*) from webhook_delivery where due_at is not null',
);
const dueNow = statement(
  'test_deliveries_due',
  'update webhook_delivery set due_at = clock_timestamp() where due_at is not null',
);

async function settled(): Promise<void> {
  await eventually(async () => ((await server.database.database.one(waiting)).count === 0 ? true : undefined));
}

test('a deployment is told as it starts and as it ends, in order, signed', async () => {
  const secret = `s-${randomUUID()}`;
  const webhookId = await makeWebhook('/told', { target_secret: secret });
  const { id, environmentId } = await makeApplication('told', 'DEVELOPMENT');
  await deploy(id);
  await settled();
  const [started, ended] = at('/told');
  expect(at('/told').map(({ body }) => body.event_type)).toEqual(['DEPLOYMENT_STARTED', 'DEPLOYMENT_SUCCESSFUL']);
  expect(started?.body).toMatchObject({
    payload_type: 'DEPLOYMENT',
    payload: {
      application_id: id,
      current_status: 'DEPLOYING',
      desired_status: 'DEPLOYED',
      project: { name: 'told' },
      environment: { id: environmentId, name: 'live', mode: 'DEVELOPMENT', cluster_name: 'Local' },
      applications: [{ id, name: 'web' }],
    },
  });
  expect(ended?.body.payload).toMatchObject({ current_status: 'DEPLOYED' });
  for (const one of at('/told')) {
    expect(one.headers['service-signature']).toBe(secret);
    expect(one.headers['service-signature-256']).toBe(createHmac('sha256', secret).update(one.text).digest('hex'));
    expect(one.headers['content-type']).toBe('application/json');
  }
  expect(started?.headers['service-delivery']).not.toBe(ended?.headers['service-delivery']);
  const { results } = await api.call('listWebhookEvent', { params: { organizationId, webhookId } });
  expect(results).toMatchObject([
    { matched_event: 'DEPLOYMENT_SUCCESSFUL', target_response_status_code: 200, target_response_body: 'answered 200' },
    {
      matched_event: 'DEPLOYMENT_STARTED',
      kind: 'STANDARD',
      target_url_used: `${address}/told`,
      request: { body: started?.body },
    },
  ]);
  expect(JSON.stringify(results)).not.toContain(secret);
  const events = await api.call('getOrganizationEvents', { params: { organizationId }, query: { targetId: id } });
  expect(events.events.map(({ event_type }) => event_type)).toEqual(['DEPLOYED', 'TRIGGER_DEPLOY', 'CREATE']);
});

test('only what a webhook asks for is told: events, names of projects, kinds of environments, enabled', async () => {
  await makeWebhook('/started', { events: ['DEPLOYMENT_STARTED'], project_names_filter: ['FILTER*'] });
  await makeWebhook('/named', { project_names_filter: ['other', 'filtered'] });
  await makeWebhook('/other-name', { project_names_filter: ['filter', '*x'] });
  await makeWebhook('/no-wildcards', { project_names_filter: ['filter__', 'f%'] });
  await makeWebhook('/production', { environment_types_filter: ['PRODUCTION', 'STAGING'] });
  await makeWebhook('/development', { environment_types_filter: ['DEVELOPMENT'] });
  await makeWebhook('/both', { environment_types_filter: ['PRODUCTION'], project_names_filter: ['nothing'] });
  await makeWebhook('/off', { enabled: false });
  await deploy((await makeApplication('filtered', 'PRODUCTION')).id);
  await settled();
  expect(at('/started').map(({ body }) => body.event_type)).toEqual(['DEPLOYMENT_STARTED']);
  expect(at('/named')).toHaveLength(2);
  expect(at('/production')).toHaveLength(2);
  for (const path of ['/other-name', '/no-wildcards', '/development', '/both', '/off']) expect(at(path)).toEqual([]);
});

test('a chat gets a line of text', async () => {
  await makeWebhook('/chat', { kind: 'SLACK', project_names_filter: ['<chat>'] });
  await deploy((await makeApplication('<chat>', 'DEVELOPMENT')).id);
  await settled();
  const [started] = at('/chat').map(({ text }): unknown => JSON.parse(text));
  expect(started).toEqual({ text: 'The deploy of &lt;chat&gt; / live (web) started. Requested by token WRITE.' });
});

test('what is not answered with 2xx is repeated with growing pauses and given up after ten attempts', async () => {
  const webhookId = await makeWebhook('/failing', { events: ['DEPLOYMENT_STARTED'], project_names_filter: ['failing'] });
  answers.set('/failing', [500, 302, ...Array<number>(20).fill(404)]);
  await deploy((await makeApplication('failing', 'DEVELOPMENT')).id);
  const { database } = server.database;
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    await eventually(() => (at('/failing').length >= attempt ? true : undefined));
    await eventually(async () => {
      const { results } = await api.call('listWebhookEvent', { params: { organizationId, webhookId } });
      return results.length >= attempt ? true : undefined;
    });
    await database.run(dueNow);
  }
  await settled();
  deliverer.look();
  expect(at('/failing')).toHaveLength(10);
  expect(new Set(at('/failing').map(({ headers }) => headers['service-delivery'])).size).toBe(1);
  const { results } = await api.call('listWebhookEvent', { params: { organizationId, webhookId } });
  expect(results.map((attempt) => attempt.target_response_status_code)).toEqual([...Array<number>(8).fill(404), 302, 500]);
  expect(at('/elsewhere')).toEqual([]);
});

test('a receiver that cannot be reached is recorded with its reason', async () => {
  const webhookId = await makeWebhook('', { target_url: 'http://127.0.0.1:1/', project_names_filter: ['unreachable'] });
  await deploy((await makeApplication('unreachable', 'DEVELOPMENT')).id);
  const ids = { params: { organizationId, webhookId } };
  const attempts = await eventually(async () => {
    const { results } = await api.call('listWebhookEvent', ids);
    return results.length > 0 ? results : undefined;
  });
  expect(attempts[0]).toMatchObject({
    target_response_status_code: 0,
    target_response_body: expect.stringContaining('ECONNREFUSED'),
  });
  await api.call('deleteOrganizationWebhook', ids);
});

test('private addresses are not called where they are not allowed, whatever was stored', async () => {
  const webhookId = await makeWebhook('/private', { project_names_filter: ['private'] });
  await deliverer.stop();
  const careful = newDeliverer(false);
  try {
    await deploy((await makeApplication('private', 'DEVELOPMENT')).id);
    const ids = { params: { organizationId, webhookId } };
    const attempts = await eventually(async () => {
      careful.look();
      const { results } = await api.call('listWebhookEvent', ids);
      return results.length > 0 ? results : undefined;
    });
    expect(attempts[0]).toMatchObject({ target_response_status_code: 0 });
    expect(attempts[0]?.target_response_body).toContain('DAVIT_ALLOW_PRIVATE_TARGETS');
    expect(at('/private')).toEqual([]);
  } finally {
    await careful.stop();
  }
});
