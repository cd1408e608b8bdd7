import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  batchedStatement,
  DatabaseUnavailable,
  forRequest,
  isCheckViolation,
  openDatabase,
  statement,
  type Database,
} from '../index.ts';

const create = statement(
  'test_batch_create',
  `create table place (name text primary key, size int check (size > 0), note jsonb, asked text, wrote xid8 default pg_current_xact_id())`,
);
const empty = statement('test_batch_empty', 'truncate place');
const insert = batchedStatement<{ name: string; size: number }>(
  'test_batch_insert',
  { name: 'text', size: 'int', note: 'text', request: 'text' },
  (asked) => `with ${asked}, made as (
     insert into place select name, size, note::jsonb, request::jsonb ->> 'actor' from asked on conflict do nothing returning name, size)
   select asked.call, made.* from made join asked using (name)`,
);
const rows = statement<{ name: string; asked: string | null; note: unknown; wrote: string }>(
  'test_batch_rows',
  'select name, asked, note, wrote::text from place order by name',
);
const terminate = statement(
  'test_batch_terminate',
  `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
);
const lock = statement('test_batch_lock', 'lock table place');

let home: TestDatabase;
let database: Database;
beforeAll(async () => {
  home = await createTestDatabase({ isMigrated: false });
  ({ database } = home);
  await database.run(create);
});
beforeEach(() => database.run(empty));
afterAll(() => home.drop());

const add = (name: string, size = 1, note: unknown = null) => database.batched(insert, [name, size, JSON.stringify(note)]);
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${String(index).padStart(3, '0')}`);

test('a single call gets its row', async () => {
  expect(await add('one', 7, { a: '"{}\\\'' })).toEqual({ name: 'one', size: 7 });
  expect(await database.many(rows)).toMatchObject([{ name: 'one', asked: null, note: { a: '"{}\\\'' } }]);
});

test('a call of a transaction is rolled back with it', async () => {
  const rolledBack = database.transaction(async (tx) => {
    expect(await tx.batched(insert, ['one', 7, null])).toEqual({ name: 'one', size: 7 });
    expect(await tx.batched(insert, ['one', 7, null])).toBeUndefined();
    throw new Error('enough');
  });
  await expect(rolledBack).rejects.toThrow('enough');
  expect(await database.many(rows)).toEqual([]);
});

test('many at once need few transactions, and each gets its own row', async () => {
  const all = names(200);
  const answers = await Promise.all(all.map((name, index) => add(name, index + 1)));
  expect(answers).toEqual(all.map((name, index) => ({ name, size: index + 1 })));
  const written = await database.many(rows);
  expect(written.map(({ name }) => name)).toEqual(all);
  expect(new Set(written.map(({ wrote }) => wrote)).size).toBeLessThan(20);
});

test('a call that fails gets its failure, one without a row gets none, and the others get their rows', async () => {
  const wanted = [...names(10), 'n003', 'bad', ...names(3).map((name) => `z${name}`)];
  const settled = await Promise.allSettled(wanted.map((name) => add(name, name === 'bad' ? 0 : 1)));
  const results = settled.map((one) => (one.status === 'rejected' ? (one.reason as unknown) : one.value));
  // Two calls use the same name, and either may be first: after the batch fails, each call is executed alone.
  const [first, second] = [results[3], results[10]];
  expect([first, second].filter((one) => one === undefined)).toHaveLength(1);
  expect(first ?? second).toEqual({ name: 'n003', size: 1 });
  expect(isCheckViolation(results[11])).toBe(true);
  const others = [0, 1, 2, 4, 5, 6, 7, 8, 9, 12, 13, 14];
  expect(others.map((index) => results[index])).toEqual(others.map((index) => ({ name: wanted[index], size: 1 })));
  expect(await database.many(rows)).toHaveLength(13);
});

test('of fifty that want one name one gets it', async () => {
  const results = await Promise.all(Array.from({ length: 50 }, () => add('same')));
  expect(results.filter((row) => row !== undefined)).toEqual([{ name: 'same', size: 1 }]);
});

test('each tells of the request that it was made for, also one with a key', async () => {
  const request = { operation: 'x', origin: 'API', triggered_by: 'x', user_agent: null, address: null };
  await Promise.all(
    names(30).map((name, index) =>
      forRequest({ ...request, actor: name, ...(index % 3 === 0 ? { idempotency_id: 'k' } : {}) }, () => add(name)),
    ),
  );
  const written = await database.many(rows);
  expect(written.map(({ asked }) => asked)).toEqual(names(30).map((name, index) => (index % 3 === 0 ? null : name)));
});

test('when the connection is lost under it, it fails and is not tried again', async () => {
  const own = openDatabase({ connectionString: home.connectionString, applicationName: 'test', maximumConnections: 4 });
  const killer = openDatabase({ connectionString: home.connectionString, applicationName: 'test', maximumConnections: 1 });
  try {
    const settled = killer.transaction(async (tx) => {
      await tx.run(lock);
      const calls = Promise.allSettled(names(20).map((name) => own.batched(insert, [name, 1, null])));
      await expect.poll(async () => (await database.many(waiting)).length).toBe(2);
      await database.run(terminate);
      return { calls };
    });
    const answers = await (await settled).calls;
    const lost = answers.filter((one) => one.status === 'rejected' && one.reason instanceof DatabaseUnavailable);
    // Two calls were in progress. The waiting calls proceed over new connections.
    expect(lost).toHaveLength(2);
    expect(await database.many(rows)).toHaveLength(18);
  } finally {
    await own.close();
    await killer.close();
  }
});

const waiting = statement(
  'test_batch_waiting',
  `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
);
