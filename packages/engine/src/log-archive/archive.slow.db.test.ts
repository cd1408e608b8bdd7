import { randomUUID } from 'node:crypto';
import { statement, type Database, type Queryable } from '@davit/db';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { insertServiceLog, segmentsAfter, trimSegments } from '../store/logs.ts';
import { LogArchive } from './archive.ts';
import { decodeFrame, frameText } from './segment.ts';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const newest = statement<{ id: string; number: number; message: string }>(
  'test_newest_lines',
  'select entry_id as id, id as number, message from service_log where service_id = $1 order by service_log.id',
);
const positions = statement<{ instance_id: string; source_at: string }>(
  'test_moved_positions',
  'select instance_id, source_at from log_position order by instance_id',
);
const insertBetween = statement(
  'test_insert_between',
  `insert into service_log (id, service_id, instance_id, instance_name, stream, message, source_at, at)
   overriding system value values ($2, $1, 'late', 'late', 'stdout', 'late', 'x', clock_timestamp())`,
);
const segmentCount = statement<{ count: number }>('test_segments', 'select count(*)::integer as count from log_segment');

let db: TestDatabase;
let service: string;

beforeEach(async () => {
  db = await createTestDatabase();
  service = randomUUID();
});
afterEach(() => db.drop());

/** Stores lines that name their instance and a number. */
async function store(instance: string, count: number, { at = new Date(), of = service } = {}): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => ({
    stream: 'stdout',
    message: `${instance} ${index}`,
    source_at: at.toISOString(),
  }));
  await db.database.run(insertServiceLog, [of, null, instance, instance, JSON.stringify(rows)]);
}

async function segments(of = service) {
  return db.database.many(segmentsAfter, [of, 0, Number.MAX_SAFE_INTEGER, 0, 8e14, null, null, [], 1000]);
}

/** Returns all lines: those in segments, then the newest. */
async function all(of = service): Promise<{ id: string; number: number; message: string }[]> {
  const moved = (await segments(of)).flatMap(({ frames, messages, details }) => {
    let message = 0;
    let detail = 0;
    return frames.flatMap(([, messageBytes, detailBytes]) => {
      const text = frameText(Buffer.from(messages, 'base64').subarray(message, (message += messageBytes)));
      return decodeFrame(of, text, Buffer.from(details, 'base64').subarray(detail, (detail += detailBytes)));
    });
  });
  return [...moved.map(({ id, number, message }) => ({ id, number, message })), ...(await db.database.many(newest, [of]))];
}

const archive = (database: Database = db.database): LogArchive => new LogArchive({ database, log: silent });

test('older lines are moved into segments, with their ids, and positions of instances stay known', async () => {
  await store('quiet', 2, { at: new Date(1_700_000_000_000) });
  await store('chatty', 45_000);
  const before = await all();
  await archive().moveAll();
  expect((await segments()).map(({ frames }) => frames.length)).toEqual([16, 16]);
  expect(await db.database.many(newest, [service])).toHaveLength(13_002);
  expect(await all()).toEqual(before);
  expect(await db.database.many(positions)).toEqual([{ instance_id: 'quiet', source_at: '2023-11-14T22:13:20.000Z' }]);
  await archive().moveAll();
  expect(await segments()).toHaveLength(2);
});

test('a process that dies in the middle of moving loses and duplicates nothing', async () => {
  await store('web', 27_000);
  const before = await all();
  const transaction = <Result>(action: (tx: Queryable) => Promise<Result>): Promise<Result> =>
    db.database.transaction(async (tx) => {
      await action(tx);
      throw new Error('killed');
    });
  const dying: Database = { ...bound(db.database), transaction };
  await expect(archive(dying).moveAll()).rejects.toThrow('killed');
  expect([await segments(), await all()]).toEqual([[], before]);
  await archive().moveAll();
  expect([(await segments()).length, await all()]).toEqual([1, before]);
});

test('several processes move the same lines only once', async () => {
  await store('web', 60_000);
  const before = await all();
  await Promise.all([archive().moveAll(), archive().moveAll(), archive().moveAll()]);
  await archive().moveAll();
  expect([(await segments()).length, await all()]).toEqual([3, before]);
});

test('a line that is committed late stays, and is moved the next time', async () => {
  await store('web', 100);
  await db.database.run({ name: 'testSkipNumber', text: `select nextval('service_log_id_seq')` });
  await store('web', 27_000);
  const late: Database = {
    ...bound(db.database),
    transaction: async (action) => {
      await db.database.run(insertBetween, [service, 101]);
      return db.database.transaction(action);
    },
  };
  await archive(late).moveAll();
  expect(await segments()).toEqual([]);
  await archive().moveAll();
  const found = await all();
  expect(found.map(({ number }) => number)).toEqual(Array.from({ length: 27_101 }, (_, index) => index + 1));
  expect(found[100]?.message).toBe('late');
});

test('lines are moved as soon as enough are stored for a segment', async () => {
  const one = archive();
  await store('web', 27_000);
  one.stored(service, 15_999);
  one.stored(service, 1);
  await vi.waitFor(async () => expect(await segments()).toHaveLength(1), 20_000);
  await one.stop();
});

test('segments are deleted by age and by bytes of their service, the oldest first', async () => {
  const other = randomUUID();
  await store('old', 16_000, { at: new Date(0) });
  await store('web', 42_000);
  await store('other', 26_001, { of: other });
  await archive().moveAll();
  const numbers = async (): Promise<number[]> => (await segments()).map(({ first_number }) => first_number);
  expect(await numbers()).toEqual([1, 16_001, 32_001]);
  await db.database.run(trimSegments, [14, 1_000_000]);
  expect(await numbers()).toEqual([16_001, 32_001]);
  // A segment of such short lines has little more than its filter of 128 KiB.
  await db.database.run(trimSegments, [14, 200_000]);
  expect(await numbers()).toEqual([32_001]);
  expect(await db.database.one(segmentCount)).toEqual({ count: 2 });
});

function bound(database: Database): Database {
  return {
    many: database.many.bind(database),
    one: database.one.bind(database),
    maybe: database.maybe.bind(database),
    run: database.run.bind(database),
    batched: database.batched.bind(database),
    transaction: database.transaction.bind(database),
    pool: database.pool,
    close: database.close.bind(database),
  };
}
