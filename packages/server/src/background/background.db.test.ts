import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { CertificateIssuer } from '../resources/certificate/index.ts';
import { GitWorker } from '../resources/git-event/index.ts';
import { Background } from './background.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const addEvent = statement(
  'test_background_event',
  `insert into audit_event (organization_id, created_at, event_type, target_type, origin, triggered_by, actor)
   values ($1, clock_timestamp() - make_interval(days => $2::integer), 'CREATE', 'PROJECT', 'API', $2::integer::text, 'x')`,
);
const addKey = statement(
  'test_background_key',
  `insert into idempotency_key (id, actor, key, sealed, runner, created_at)
   values ($1, 'x', $2::integer::text, '', 'x', clock_timestamp() - make_interval(hours => $2::integer))`,
);
const addDelivery = statement(
  'test_background_delivery',
  `insert into webhook_delivery (webhook_id, event, payload, due_at, created_at)
   values ($1, 'DEPLOYMENT_STARTED', '{}', case when $3 then clock_timestamp() + interval '1 hour' end,
           clock_timestamp() - make_interval(days => $2))`,
);
const left = statement<{ events: number; keys: number; deliveries: number }>(
  'test_background_left',
  `select (select count(*) from audit_event where organization_id = $1) as events,
          (select count(*) from idempotency_key where actor = 'x') as keys,
          (select count(*) from webhook_delivery where webhook_id = $2) as deliveries`,
);

test('what is kept no longer is removed, and nothing else', async () => {
  const { database } = server.database;
  const { id: organizationId } = await server.organization();
  const body = { target_url: 'https://hooks.example.org', events: ['DEPLOYMENT_STARTED' as const] };
  const { id: webhookId } = await server.client().call('createOrganizationWebhook', { params: { organizationId }, body });
  const logged = randomUUID();
  for (const days of [1, 29, 31, 400]) await database.run(addEvent, [logged, days]);
  for (const hours of [1, 23, 25]) await database.run(addKey, [randomUUID(), hours]);
  for (const days of [1, 31]) await database.run(addDelivery, [webhookId, days, false]);
  // This delivery is still pending.
  await database.run(addDelivery, [webhookId, 31, true]);
  const background = new Background({
    deps: server.api.deps,
    connectionString: server.database.connectionString,
    version: '1',
    log: { info: () => undefined, warn: () => undefined },
  });
  await background.start();
  await background.stop();
  expect(await database.one(left, [logged, webhookId])).toEqual({ events: 2, keys: 2, deliveries: 2 });
});

test('a start that fails leaves nothing at work', async () => {
  const { deps } = server.api;
  const fails = vi.spyOn(CertificateIssuer.prototype, 'start').mockRejectedValue(new Error('the database is away'));
  const ends = vi.spyOn(GitWorker.prototype, 'stop');
  try {
    const background = new Background({
      deps: { ...deps, config: { ...deps.config, gatewayHttpsPort: 4443, acme: null } },
      connectionString: server.database.connectionString,
      version: '1',
      log: { info: () => undefined, warn: () => undefined },
    });
    await expect(background.start()).rejects.toThrow('the database is away');
    expect(ends).toHaveBeenCalledOnce();
  } finally {
    fails.mockRestore();
    ends.mockRestore();
  }
});
