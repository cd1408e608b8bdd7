import { createServer, type Server } from 'node:http';
import type { Client } from '@davit/client';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { WebhookDeliverer } from './index.ts';

/* The deliveries of a webhook run one after the other, across two server processes, whatever the receiver does. */

interface Received {
  readonly delivery: string;
  readonly number: number;
  readonly status: number;
}

let server: TestServer;
let beside: TestServer;
let deliverers: readonly WebhookDeliverer[];
let receiver: Server;
let port = 0;
let api: Client;
let organizationId: string;
let webhookId: string;
let received: Received[];
let underway: number;
let maxUnderway: number;
let answer: (number: number) => number;

beforeAll(async () => {
  const environment = { DAVIT_ALLOW_PRIVATE_TARGETS: 'true' };
  server = await startTestServer({ environment });
  beside = await startTestServer({ beside: server, environment });
  const organization = await server.organization();
  organizationId = organization.id;
  api = server.client(organization.tokens.WRITE);
  const log = { warn: (details: object, message: string): void => console.warn(message, details) };
  deliverers = [server, beside].map(
    ({ api: { deps } }) => new WebhookDeliverer({ ...deps, allowPrivateTargets: true, version: '1', log }),
  );
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    underway += 1;
    maxUnderway = Math.max(maxUnderway, underway);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { number }: { number: number } = JSON.parse(Buffer.concat(chunks).toString());
      const status = answer(number);
      received.push({ delivery: String(request.headers['service-delivery']), number, status });
      // Leaves time for a second delivery to arrive.
      setTimeout(() => {
        underway -= 1;
        response.writeHead(status).end();
      }, 5);
    });
  });
  await open();
});

beforeEach(async () => {
  received = [];
  underway = 0;
  maxUnderway = 0;
  answer = () => 200;
  const body = { target_url: `http://127.0.0.1:${port}/`, events: ['DEPLOYMENT_STARTED' as const] };
  webhookId = (await api.call('createOrganizationWebhook', { params: { organizationId }, body })).id;
});

afterAll(async () => {
  await Promise.all(deliverers.map((deliverer) => deliverer.stop()));
  await close();
  await beside.close();
  await server.close();
});

async function open(): Promise<void> {
  await new Promise<void>((resolve) => receiver.listen(port, '127.0.0.1', resolve));
  const bound = receiver.address();
  port = typeof bound === 'object' && bound !== null ? bound.port : 0;
}

async function close(): Promise<void> {
  await new Promise<void>((resolve) => {
    receiver.close(() => resolve());
    receiver.closeAllConnections();
  });
}

const add = statement(
  'test_delivery_add',
  `insert into webhook_delivery (webhook_id, event, payload) values ($1, 'DEPLOYMENT_STARTED', jsonb_build_object('number', $2::integer))`,
);
// Makes existing rows older, so that time passes for them.
const age = statement(
  'test_deliveries_age',
  `update webhook_delivery set due_at = due_at - make_interval(secs => $1), created_at = created_at - make_interval(secs => $1)`,
);
const counts = statement<{ ready: number; taken: number; open: number }>(
  'test_deliveries_count',
  `select count(*) filter (where due_at <= clock_timestamp()) as ready, count(*) filter (where is_taken) as taken,
          count(*) filter (where due_at is not null) as open from webhook_delivery`,
);

async function happen(number: number): Promise<void> {
  await server.database.database.run(add, [webhookId, number]);
}

/** Lets both processes deliver until `condition` holds. */
async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited in vain; received ${JSON.stringify(received)}`);
    for (const deliverer of deliverers) deliverer.look();
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

const attempts = statement<{ count: number }>(
  'test_attempts_count',
  'select count(*) from webhook_attempt where webhook_id = $1',
);

async function attemptsMade(): Promise<number> {
  return (await server.database.database.one(attempts, [webhookId])).count;
}

async function isDone(): Promise<boolean> {
  return (await server.database.database.one(counts)).open === 0;
}

/** Lets time pass in steps, and attempts the deliveries that become due. */
async function pass(seconds: number, step: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += step) {
    await server.database.database.run(age, [step]);
    let before = -1;
    // Repeats until a look at all deliveries makes no attempt.
    while (before !== (await attemptsMade())) {
      before = await attemptsMade();
      for (const deliverer of deliverers) await deliverer.idle();
    }
  }
}

const numbers = (count: number, from = 1): number[] => Array.from({ length: count }, (_, index) => from + index);

test('a receiver that is away for an hour gets everything in order, each once', async () => {
  await close();
  const count = 30;
  for (const number of numbers(count)) {
    await happen(number);
    await pass(120, 60);
  }
  // Only the first delivery was attempted, with growing pauses.
  const { results } = await api.call('listWebhookEvent', { params: { organizationId, webhookId } });
  expect(new Set(results.map(({ request }) => JSON.stringify(Reflect.get(request, 'body'))))).toEqual(new Set(['{"number":1}']));
  expect(results.length).toBeGreaterThan(4);
  expect(results.length).toBeLessThan(9);
  await open();
  await pass(1800, 60);
  await until(isDone);
  expect(received.map(({ number }) => number)).toEqual(numbers(count));
  expect(new Set(received.map(({ delivery }) => delivery)).size).toBe(count);
  expect(maxUnderway).toBe(1);
});

test('what comes all at once goes out one after the other, in order', async () => {
  const count = 60;
  for (const number of numbers(count)) await happen(number);
  await until(isDone);
  expect(received.map(({ number }) => number)).toEqual(numbers(count));
  expect(maxUnderway).toBe(1);
});

test('an event that the receiver has read and refuses holds up nothing; it is repeated all the same', async () => {
  answer = (number) => (number === 1 ? 422 : 200);
  for (const number of numbers(3)) await happen(number);
  await until(() => received.length >= 3);
  expect(received.map(({ number, status }) => [number, status])).toEqual([
    [1, 422],
    [2, 200],
    [3, 200],
  ]);
  answer = () => 200;
  await pass(20, 10);
  await until(isDone);
  expect(received.at(-1)).toMatchObject({ number: 1, status: 200, delivery: received[0]?.delivery });
  expect(maxUnderway).toBe(1);
});

test('an event at which a receiver fails each time holds up the others for an hour and a half, and no longer', async () => {
  answer = (number) => (number === 1 ? 500 : 200);
  for (const number of numbers(3)) await happen(number);
  await pass(85 * 60, 300);
  expect(new Set(received.map(({ number }) => number))).toEqual(new Set([1]));
  await pass(600, 300);
  await until(() => received.length > 0 && received.at(-1)?.number === 3);
  expect(received.filter(({ number }) => number > 1).map(({ number }) => number)).toEqual([2, 3]);
  expect(maxUnderway).toBe(1);
  await pass(200_000, 20_000);
  await until(isDone);
  expect(received.filter(({ number }) => number === 1)).toHaveLength(10);
});

const abandon = statement(
  'test_delivery_abandon',
  `update webhook_delivery set is_taken = true, attempts = attempts + 1, due_at = clock_timestamp() + interval '1 minute'
    where webhook_id = $1 and payload ->> 'number' = '1'`,
);

test('one that a process took and died with is delivered a minute later, before those behind it', async () => {
  for (const number of numbers(3)) await happen(number);
  await server.database.database.run(abandon, [webhookId]);
  await pass(50, 25);
  expect(received).toEqual([]);
  await pass(30, 15);
  await until(isDone);
  expect(received.map(({ number }) => number)).toEqual(numbers(3));
});

test('an attempt is repeated on request, whatever became of it, with the same id; not where the webhook is switched off', async () => {
  await happen(1);
  await until(isDone);
  const params = { organizationId, webhookId };
  const { results } = await api.call('listWebhookEvent', { params });
  const again = { params: { ...params, webhookEventId: results[0]?.id ?? '' } };
  await api.call('redeliverWebhookEvent', again);
  await until(() => received.length === 2);
  await until(isDone);
  expect(received[1]).toEqual(received[0]);
  expect((await api.call('listWebhookEvent', { params })).results).toHaveLength(2);
  const webhook = await api.call('getOrganizationWebhook', { params });
  const { kind = 'STANDARD', target_url = '', events = [] } = webhook;
  await api.call('editOrganizationWebhook', { params, body: { kind, target_url, events, enabled: false } });
  await expect(api.call('redeliverWebhookEvent', again)).rejects.toMatchObject({ status: 409, code: 'WEBHOOK_DISABLED' });
  const unknown = { params: { ...params, webhookEventId: webhookId } };
  await expect(api.call('redeliverWebhookEvent', unknown)).rejects.toMatchObject({ status: 404 });
});
