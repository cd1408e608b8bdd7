import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@davit/client';
import { openDatabase, statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestSubscriber, has, namesOf, write, type TestEnvironmentIds } from './testing.ts';
import { trimStream } from './trim.ts';

/* Streams send exactly the committed events, each once, whatever happens in between. */

let servers: readonly [TestServer, TestServer];
let clients: readonly [Client, Client];
let organizationId: string;

beforeAll(async () => {
  const environment = { DAVIT_STREAM_HEARTBEAT_SECONDS: '1' };
  const first = await startTestServer({ environment });
  servers = [first, await startTestServer({ beside: first, environment })];
  const organization = await first.organization();
  organizationId = organization.id;
  clients = [servers[0].client(organization.tokens.READ), servers[1].client(organization.tokens.READ)];
});
afterAll(async () => {
  await servers[1].close();
  await servers[0].close();
});

const newPlace = (): TestEnvironmentIds => ({ organizationId, projectId: randomUUID(), environmentId: randomUUID() });

function ear({ environmentId }: TestEnvironmentIds, which: 0 | 1 = 0, lastEventId?: string): TestSubscriber {
  const kinds = 'QUEUE';
  const query = { environmentId, kinds };
  const known = lastEventId === undefined ? {} : { lastEventId };
  return new TestSubscriber((signal) =>
    clients[which].stream('streamOrganization', { params: { organizationId }, query, signal, ...known }),
  );
}

/** Writes `late` in a transaction that stays open. Returns the function that commits it. */
async function writeUncommitted(ids: TestEnvironmentIds): Promise<() => Promise<void>> {
  const written = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const late = servers[0].database.database.transaction(async (tx) => {
    await write(tx, ids, 'late');
    written.resolve();
    await commit.promise;
  });
  await written.promise;
  return () => {
    commit.resolve();
    return late;
  };
}

test('a transaction that commits after later ones is told, and only once', async () => {
  const { database } = servers[0].database;
  const ids = newPlace();
  const live = ear(ids);
  await live.until(has('OPEN'));
  const commit = await writeUncommitted(ids);
  await write(database, ids, 'early');
  await live.until(has('QUEUE', { triggered_by: 'early' }));
  const idBetween = live.received.at(-1)?.id ?? '';
  await write(database, ids, 'middle');
  await live.until(has('QUEUE', { triggered_by: 'middle' }));
  await commit();
  await live.until(has('QUEUE', { triggered_by: 'late' }));
  expect(namesOf(live.received)).toEqual(['early', 'middle', 'late']);
  await live.close();
  for (const which of [0, 1] as const) {
    const again = ear(ids, which, idBetween);
    await again.until((received) => namesOf(received).length >= 2);
    expect(namesOf(again.received).toSorted()).toEqual(['late', 'middle']);
    expect(again.received[0]).toMatchObject({ event: 'OPEN', data: { resumed: true } });
    await again.close();
  }
});

test('over random breaks, two servers, and transactions of all lengths nothing is lost and nothing told twice', async () => {
  const { database } = servers[0].database;
  const ids = newPlace();
  const writers = 6;
  const each = 60;
  const opening = ear(ids);
  await opening.until(has('OPEN'));
  let last = opening.received[0]?.id ?? '';
  await opening.close();
  const writing = Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let count = 0; count < each; count += 1) {
        await database.transaction(async (tx) => {
          await write(tx, ids, `${writer} ${count}`);
          if (Math.random() < 0.4) await pause(Math.random() * 30);
          if (Math.random() < 0.2) await write(tx, newPlace(), 'elsewhere');
        });
      }
    }),
  );
  const reported: string[] = [];
  const until = Date.now() + 25_000;
  let connections = 0;
  while (reported.length < writers * each) {
    if (Date.now() > until) throw new Error(`only ${reported.length} were told`);
    connections += 1;
    const most = 1 + Math.floor(Math.random() * 12);
    const query = { environmentId: ids.environmentId, kinds: 'QUEUE' };
    const signal = AbortSignal.timeout(2000);
    const input = { params: { organizationId }, query, signal, lastEventId: last, reconnect: false };
    const before = reported.length;
    try {
      for await (const one of clients[connections % 2 === 0 ? 0 : 1].stream('streamOrganization', input)) {
        last = one.id ?? last;
        reported.push(...namesOf([one]));
        if (reported.length - before >= most) break;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
  await writing;
  expect(reported).toHaveLength(writers * each);
  expect(new Set(reported).size).toBe(writers * each);
  for (let writer = 0; writer < writers; writer += 1) {
    const own = reported.filter((name) => name.startsWith(`${writer} `)).map((name) => Number(name.split(' ')[1]));
    expect(own).toEqual(Array.from({ length: each }, (_, count) => count));
  }
  expect(connections).toBeGreaterThan(20);
});

const listeners = statement<{ ended: boolean }>(
  'test_end_listeners',
  `select pg_terminate_backend(pid) as ended from pg_stat_activity where application_name = 'davit listen' and datname = current_database()`,
);

test('a lost connection of listen loses nothing', async () => {
  const { database } = servers[0].database;
  const ids = newPlace();
  const live = ear(ids);
  await live.until(has('OPEN'));
  expect(await database.many(listeners)).not.toHaveLength(0);
  for (let count = 0; count < 20; count += 1) await write(database, ids, String(count));
  await live.until((received) => namesOf(received).length >= 20);
  expect(namesOf(live.received)).toEqual(Array.from({ length: 20 }, (_, count) => String(count)));
  await live.close();
});

test('more than is kept in memory is read from the database, page by page', async () => {
  const { database } = servers[0].database;
  const ids = newPlace();
  const live = ear(ids);
  await live.until(has('OPEN'));
  const id = live.received[0]?.id ?? '';
  const many = statement(
    'test_stream_many',
    `insert into stream_event (organization_id, project_id, environment_id, kind, fact)
     select $1, $2, $3, 'QUEUE', '{"action": "DEPLOY", "change": "QUEUED", "origin": "API"}'::jsonb || jsonb_build_object('triggered_by', n::text)
       from generate_series(1, 7000) n`,
  );
  await database.run(many, [organizationId, ids.projectId, ids.environmentId]);
  const all = Array.from({ length: 7000 }, (_, index) => String(index + 1));
  await live.until((received) => namesOf(received).length >= 7000);
  expect(namesOf(live.received)).toEqual(all);
  await live.close();
  const again = ear(ids, 1, id);
  await again.until((received) => namesOf(received).length >= 7000);
  expect(namesOf(again.received)).toEqual(all);
  await again.close();
});

const cutAll = statement<{ ended: boolean }>(
  'test_cut_connections',
  `select pg_terminate_backend(pid) as ended from pg_stat_activity
    where datname = current_database() and application_name <> 'davit test cutter'`,
);

test('a database that is away in the middle of a page costs no event and repeats none', async () => {
  const { database, connectionString } = servers[0].database;
  const ids = newPlace();
  const live = ear(ids);
  await live.until(has('OPEN'));
  const id = live.received[0]?.id ?? '';
  await live.close();
  const count = 3000;
  const many = statement(
    'test_stream_wide',
    `insert into stream_event (organization_id, project_id, environment_id, kind, fact)
     select $1, $2, $3, 'QUEUE', jsonb_build_object('action', 'DEPLOY', 'change', 'QUEUED', 'origin', 'API', 'triggered_by', rpad(n::text, 2000))
       from generate_series(1, $4::integer) n`,
  );
  await database.run(many, [organizationId, ids.projectId, ids.environmentId, count]);
  const cutter = openDatabase({ connectionString, applicationName: 'davit test cutter', maximumConnections: 1 });
  const again = ear(ids, 0, id);
  let cuts = 0;
  await again.until((received) => {
    // Cuts the connection after each further quarter of the events.
    if (namesOf(received).length >= (cuts * count) / 4 && cuts < 4) {
      cuts += 1;
      void cutter.many(cutAll);
    }
    return namesOf(received).length >= count;
  });
  await again.close();
  await cutter.close();
  expect(namesOf(again.received).map((name) => Number(name))).toEqual(Array.from({ length: count }, (_, index) => index + 1));
});

const ageCheckpoints = statement('test_stream_age', `update stream_checkpoint set taken_at = taken_at - interval '2 hours'`);

test('an id of what is not kept any more gets a fresh start, and says so; one of an hour ago does not', async () => {
  const { database } = servers[0].database;
  const ids = newPlace();
  const live = ear(ids);
  await live.until(has('OPEN'));
  const old = live.received[0]?.id ?? '';
  await write(database, ids, 'removed');
  await live.until(has('QUEUE'));
  const recent = live.received.at(-1)?.id ?? '';
  // A transaction that stays open all the time: its events are new when it commits.
  const commit = await writeUncommitted(ids);
  await write(database, ids, 'also removed');
  await live.until(has('QUEUE', { triggered_by: 'also removed' }));
  await trimStream(database, { seconds: 3600, checkpointSeconds: 0 });
  // Written after the checkpoint: an id from before it may miss a transaction of another database that ended only
  // later.
  await write(database, ids, 'kept');
  await live.until(has('QUEUE', { triggered_by: 'kept' }));
  await live.close();
  await database.run(ageCheckpoints);
  await trimStream(database, { seconds: 3600, checkpointSeconds: 0 });
  await commit();
  await trimStream(database, { seconds: 3600, checkpointSeconds: 0 });
  for (const id of [old, recent]) {
    const again = ear(ids, 1, id);
    await again.until(has('RESET'));
    expect(again.received.map(({ event }) => event)).toEqual(['OPEN', 'RESET']);
    expect(again.received[0]?.data).toEqual({ resumed: false });
    await write(database, ids, 'fresh');
    await again.until(has('QUEUE'));
    expect(namesOf(again.received)).toEqual(['fresh']);
    await again.close();
  }
  const kept = ear(ids, 0, live.received.at(-1)?.id ?? '');
  await kept.until((received) => namesOf(received).length >= 3);
  expect(namesOf(kept.received)).toEqual(['late', 'fresh', 'fresh']);
  await kept.close();
});

test('an id of another life of the database gets a fresh start', async () => {
  const again = ear(newPlace(), 0, 'szzzzzzz.0');
  await again.until(has('RESET'));
  expect(again.received[0]).toMatchObject({ event: 'OPEN', data: { resumed: false } });
  await again.close();
});

test('what is no id is refused', async () => {
  const response = await fetch(`${servers[0].baseUrl}/organization/${organizationId}/stream`, {
    headers: { authorization: `Token ${servers[0].adminToken}`, 'last-event-id': '12345' },
  });
  expect(await response.json()).toMatchObject({ status: 400, errors: [{ path: 'Last-Event-ID' }] });
});

test('while nothing happens to what is followed the id goes on, so that it does not become too old', async () => {
  const { database } = servers[0].database;
  const followed = newPlace();
  const { headers, body } = await fetch(
    `${servers[0].baseUrl}/organization/${organizationId}/stream?environmentId=${followed.environmentId}`,
    { headers: { authorization: `Token ${servers[0].adminToken}` } },
  );
  expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const elsewhere = newPlace();
  const writing = setInterval(() => void write(database, elsewhere, 'elsewhere'), 50);
  let text = '';
  const decoder = new TextDecoder();
  const beat = /: nothing new\nid: (s[0-9a-z.]+)\n\n/g;
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if ((text.match(beat) ?? []).length >= 2) break;
  }
  clearInterval(writing);
  expect(text).toMatch(/^retry: 1000\nid: s[0-9a-z.]+\nevent: OPEN\ndata: \{"resumed":false\}\n\n/);
  const ids = [...text.matchAll(beat)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test('a change is told within 100 ms of its commit', async () => {
  const { database } = servers[0].database;
  const ids = newPlace();
  const live = ear(ids, 1);
  await live.until(has('OPEN'));
  const milliseconds: number[] = [];
  for (let count = 0; count < 50; count += 1) {
    await write(database, ids, `${count}`);
    const committed = performance.now();
    await live.until((received) => namesOf(received).length > count);
    milliseconds.push(performance.now() - committed);
  }
  const median = milliseconds.toSorted((a, b) => a - b)[25] ?? Infinity;
  console.info(`told ${median.toFixed(1)} ms after the commit (median of 50, in another process' place)`);
  expect(median).toBeLessThan(100);
  await live.close();
});
