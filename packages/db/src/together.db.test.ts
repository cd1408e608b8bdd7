import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  DatabaseUnavailable,
  forRequest,
  isCheckViolation,
  isUniqueViolation,
  openDatabase,
  statement,
  type Database,
} from './index.ts';

const create = statement(
  'testTogetherCreate',
  `CREATE TABLE place (name text PRIMARY KEY, size int CHECK (size > 0), note jsonb, asked text, wrote xid8 DEFAULT pg_current_xact_id())`,
);
const empty = statement('testTogetherEmpty', 'TRUNCATE place');
const insert = statement<{ name: string; size: number }>(
  'testTogetherInsert',
  `INSERT INTO place SELECT $1, $2, $3::jsonb, $4::jsonb ->> 'actor' RETURNING name, size`,
  {
    takesRequest: true,
    together: `WITH asked AS (SELECT * FROM unnest($1::text[], $2::int[], $3::text[], $4::text[]) WITH ORDINALITY AS c (name, size, note, request, call)),
      made AS (INSERT INTO place SELECT name, size, note::jsonb, request::jsonb ->> 'actor' FROM asked ON CONFLICT DO NOTHING RETURNING name, size)
      SELECT asked.call, made.* FROM made JOIN asked USING (name)`,
  },
);
const rows = statement<{ name: string; asked: string | null; note: unknown; wrote: string }>(
  'testTogetherRows',
  'SELECT name, asked, note, wrote::text FROM place ORDER BY name',
);
const terminate = statement(
  'testTogetherTerminate',
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
);
const lock = statement('testTogetherLock', 'LOCK TABLE place');

let home: TestDatabase;
let database: Database;
beforeAll(async () => {
  home = await createTestDatabase({ isMigrated: false });
  ({ database } = home);
  await database.run(create);
});
beforeEach(() => database.run(empty));
afterAll(() => home.drop());

const add = (name: string, size = 1, note: unknown = null) => database.together(insert, [name, size, JSON.stringify(note)]);
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${String(index).padStart(3, '0')}`);

test('a call alone is the statement itself', async () => {
  expect(await add('one', 7, { a: '"{}\\\'' })).toEqual({ name: 'one', size: 7 });
  expect(await database.many(rows)).toMatchObject([{ name: 'one', asked: null, note: { a: '"{}\\\'' } }]);
});

test('many at once need few transactions, and each gets its own row', async () => {
  const all = names(200);
  const answers = await Promise.all(all.map((name, index) => add(name, index + 1)));
  expect(answers).toEqual(all.map((name, index) => ({ name, size: index + 1 })));
  const written = await database.many(rows);
  expect(written.map(({ name }) => name)).toEqual(all);
  expect(new Set(written.map(({ wrote }) => wrote)).size).toBeLessThan(20);
});

test('one that fails gets its failure, and the others their rows', async () => {
  const settled = await Promise.allSettled(
    [...names(10), 'n003', 'bad', ...names(3).map((name) => `z${name}`)].map((name) => add(name, name === 'bad' ? 0 : 1)),
  );
  const statuses = settled.map(({ status }) => status);
  // Two calls use the same name, and either may be first: after the batch fails, each call is executed alone.
  expect(new Set([statuses[3], statuses[10]])).toEqual(new Set(['fulfilled', 'rejected']));
  expect(statuses.filter((_, index) => index !== 3 && index !== 10)).toEqual([
    ...Array<string>(9).fill('fulfilled'),
    'rejected',
    ...Array<string>(3).fill('fulfilled'),
  ]);
  const [taken, bad] = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  expect(isUniqueViolation(taken)).toBe(true);
  expect(isCheckViolation(bad)).toBe(true);
  expect(await database.many(rows)).toHaveLength(13);
});

test('of fifty that want one name one gets it', async () => {
  const settled = await Promise.allSettled(Array.from({ length: 50 }, () => add('same')));
  const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  expect(failures).toHaveLength(49);
  expect(failures.every((error) => isUniqueViolation(error))).toBe(true);
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
      const calls = Promise.allSettled(names(20).map((name) => own.together(insert, [name, 1, null])));
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
  'testTogetherWaiting',
  `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
);
