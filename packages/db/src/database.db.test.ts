import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  acquireSessionLock,
  checkStatements,
  DatabaseUnavailable,
  isCheckViolation,
  isForeignKeyViolation,
  isUniqueViolation,
  openDatabase,
  statement,
  type Database,
  type Queryable,
  type Statement,
} from './index.ts';

interface Account {
  readonly id: number;
  readonly name: string;
  readonly balance: number;
}

const createTables = statement(
  'test_create_tables',
  `create table account (id int primary key, name text constraint account_name_key unique, balance bigint constraint account_balance_check check (balance >= 0))`,
);
const createEntries = statement(
  'test_create_entries',
  `create table entry (account int constraint entry_account_fkey references account)`,
);
const empty = statement('test_empty', `truncate account, entry`);
const insert = statement('test_insert', `insert into account values ($1, $2, $3)`);
const insertEntry = statement('test_insert_entry', `insert into entry values ($1)`);
const select = statement<Account>('test_select', `select id, name, balance from account order by id`);
const selectById = statement<Account>('test_select_by_id', `select id, name, balance from account where id = $1`);
const add = statement('test_add', `update account set balance = balance + $2 where id = $1`);
const ownProcess = statement<{ pid: number }>('test_own_process', `select pg_backend_pid() as pid`);
const terminate = statement('test_terminate', `select pg_terminate_backend($1)`);

const databaseName = statement<{ name: string }>('test_current_database', 'select current_database() as name');
const setReadOnly = statement('test_session_read_only', `set default_transaction_read_only = on`);
// Affects new sessions only: the pool's own connections are not touched.
const alterReadOnly = (name: string): Statement => ({
  name: `${name}_readonly`,
  text: `alter database ${name} set default_transaction_read_only = on`,
});
const alterWritable = (name: string): Statement => ({
  name: `${name}_writable`,
  text: `alter database ${name} reset default_transaction_read_only`,
});

let home: TestDatabase;
let database: Database;

beforeAll(async () => {
  home = await createTestDatabase({ isMigrated: false });
  ({ database } = home);
  await database.run(createTables);
  await database.run(createEntries);
});
beforeEach(async () => {
  await database.run(empty);
});
afterAll(() => home.drop());

test('values arrive in the form that the API answers with', async () => {
  const allTypes = statement(
    'test_types',
    `select '2026-01-02 03:04:05.678901+00'::timestamptz as instant, 9007199254740991::int8 as big, '\\x00ff'::bytea as bytes,
            '{"a":[1,null]}'::jsonb as json, array['2026-01-02 03:04:05+00'::timestamptz, null] as instants,
            array[1, 2]::int8[] as bigs, array['a', 'b'] as texts, true as flag, null as nothing, '2026-01-02'::date as day`,
  );
  expect(await database.one(allTypes)).toEqual({
    instant: '2026-01-02T03:04:05.678Z',
    big: 9_007_199_254_740_991,
    bytes: Buffer.from([0, 255]),
    json: { a: [1, null] },
    instants: ['2026-01-02T03:04:05.000Z', null],
    bigs: [1, 2],
    texts: ['a', 'b'],
    flag: true,
    nothing: null,
    day: '2026-01-02',
  });
});

test('a bigint that no number can hold is an error and not another number', async () => {
  const tooBig = statement('test_too_big', `select 9007199254740993::int8 as big`);
  await expect(database.one(tooBig)).rejects.toThrow('does not fit a number');
});

test('one, maybe and run say what they found', async () => {
  await database.run(insert, [1, 'a', 0]);
  expect(await database.run(insert, [2, 'b', 0])).toBe(1);
  expect(await database.one(selectById, [2])).toEqual({ id: 2, name: 'b', balance: 0 });
  expect(await database.maybe(selectById, [3])).toBeUndefined();
  await expect(database.one(selectById, [3])).rejects.toThrow('test_select_by_id gave 0 rows instead of one');
  await expect(database.one(select)).rejects.toThrow('gave 2 rows instead of one');
  await expect(database.maybe(select)).rejects.toThrow('gave 2 rows instead of one or none');
  expect(await database.run(add, [9, 1])).toBe(0);
});

test('violations are told apart by kind and constraint, and cost no connection', async () => {
  const narrow = openDatabase({ connectionString: home.connectionString, applicationName: 'test', maximumConnections: 1 });
  const { pid } = await narrow.one(ownProcess);
  await narrow.run(insert, [1, 'a', 0]);
  const unique = await failureOf(narrow.run(insert, [2, 'a', 0]));
  expect(isUniqueViolation(unique)).toBe(true);
  expect(isUniqueViolation(unique, 'account_name_key')).toBe(true);
  expect(isUniqueViolation(unique, 'account_pkey')).toBe(false);
  expect(isForeignKeyViolation(unique)).toBe(false);
  expect(isForeignKeyViolation(await failureOf(narrow.run(insertEntry, [7])), 'entry_account_fkey')).toBe(true);
  expect(isCheckViolation(await failureOf(narrow.run(insert, [3, 'c', -1])), 'account_balance_check')).toBe(true);
  expect(await narrow.one(ownProcess)).toEqual({ pid });
  await narrow.close();
});

test('a transaction writes all or nothing', async () => {
  const result = await database.transaction(async (tx) => {
    await tx.run(insert, [1, 'a', 5]);
    return tx.one(selectById, [1]);
  });
  expect(result.balance).toBe(5);
  await expect(
    database.transaction(async (tx) => {
      await tx.run(add, [1, 1]);
      throw new Error('changed my mind');
    }),
  ).rejects.toThrow('changed my mind');
  expect((await database.one(selectById, [1])).balance).toBe(5);
});

test('a transaction whose failed statement was swallowed is not reported as written', async () => {
  const attempt = database.transaction(async (tx) => {
    await tx.run(insert, [1, 'a', 5]);
    await failureOf(tx.run(insert, [1, 'a', 5]));
  });
  await expect(attempt).rejects.toThrow('rolled back, as one of its statements had failed');
  expect(await database.many(select)).toEqual([]);
});

test('statements that are started at once run one after the other in their transaction', async () => {
  await database.transaction((tx) => Promise.all([1, 2, 3].map((id) => tx.run(insert, [id, `n${id}`, id]))));
  expect(await database.many(select)).toHaveLength(3);
});

test('a transaction inside a transaction is refused', async () => {
  const nested = database.transaction(() => database.transaction(async () => 1));
  await expect(nested).rejects.toThrow('a transaction is open already');
});

test('a transaction that is over takes no further statement', async () => {
  let kept: Queryable | undefined;
  await database.transaction(async (tx) => {
    kept = tx;
  });
  await expect(kept?.run(insert, [1, 'a', 0])).rejects.toThrow('after the end of its transaction');
});

test('a deadlock is resolved by doing one of the transactions again', async () => {
  await database.run(insert, [1, 'a', 0]);
  await database.run(insert, [2, 'b', 0]);
  let attempts = 0;
  const bothHoldOne = Promise.withResolvers<void>();
  let holding = 0;
  const transfer = (first: number, second: number, other: () => Promise<void>): Promise<void> => {
    let own = 0;
    return database.transaction(async (tx) => {
      attempts += 1;
      own += 1;
      // If it were retried at once, it could lock its first row before the other transaction, which has just been
      // woken, and run into a deadlock again.
      if (own > 1) await other();
      await tx.run(add, [first, 1]);
      holding += 1;
      if (holding === 2) bothHoldOne.resolve();
      await bothHoldOne.promise;
      await tx.run(add, [second, 1]);
    });
  };
  const one: Promise<void> = transfer(1, 2, () => two);
  const two: Promise<void> = transfer(2, 1, () => one);
  await Promise.all([one, two]);
  expect(attempts).toBe(3);
  expect((await database.many(select)).map(({ balance }) => balance)).toEqual([2, 2]);
});

describe('failures that are not of the statement', () => {
  const fail = statement('test_fail', `select fail_with($1)`);
  const failTwice = statement<{ attempts: number }>('test_fail_twice', `select fail_twice_with($1) as attempts`);
  beforeAll(async () => {
    await database.run(
      statement(
        'test_make_fail',
        `create function fail_with(state text) returns void language plpgsql as
         $$ begin raise exception 'as told' using errcode = state; end $$`,
      ),
    );
    await database.run(statement('test_make_attempts', `create sequence attempt`));
    await database.run(
      statement(
        'test_make_fail_twice',
        `create function fail_twice_with(state text) returns bigint language plpgsql as
         $$ begin
              if nextval('attempt') % 3 <> 0 then perform fail_with(state); end if;
              return currval('attempt');
            end $$`,
      ),
    );
  });

  test.each([
    ['53100', 'a full disk'],
    ['53200', 'too little memory'],
    ['58030', 'a disk that does not read'],
    ['55P03', 'a lock that was waited for too long'],
    ['57014', 'a statement that an operator ended'],
  ])('%s, %s, is DATABASE_UNAVAILABLE and costs no connection', async (state) => {
    const narrow = openDatabase({ connectionString: home.connectionString, applicationName: 'test', maximumConnections: 1 });
    const { pid } = await narrow.one(ownProcess);
    const expected = { code: 'DATABASE_UNAVAILABLE', retryable: true, message: expect.stringContaining('at present') };
    await expect(narrow.run(fail, [state])).rejects.toMatchObject(expected);
    await expect(narrow.transaction((tx) => tx.run(fail, [state]))).rejects.toMatchObject(expected);
    expect(await narrow.one(ownProcess)).toEqual({ pid });
    await narrow.close();
  });

  test('a full disk is named, with the folder of a server of this machine and what to do', async () => {
    const options = { connectionString: home.connectionString, applicationName: 'test', maximumConnections: 1 };
    const own = openDatabase({ ...options, folder: '/var/lib/davit' });
    const words = /no space left on the disk of \/var\/lib\/davit\. Free space there/;
    await expect(own.run(fail, ['53100'])).rejects.toMatchObject({ message: expect.stringMatching(words) });
    await expect(own.transaction((tx) => tx.run(fail, ['53100']))).rejects.toMatchObject({
      message: expect.stringMatching(words),
    });
    await own.close();
    await expect(database.run(fail, ['53100'])).rejects.toMatchObject({
      message: expect.stringContaining('the disk of its server'),
    });
  });

  test.each([['53400'], ['XX001'], ['22012']])('%s stays what it is', async (state) => {
    await expect(database.run(fail, [state])).rejects.toMatchObject({ code: state });
  });

  test.each([['40001'], ['40P01']])('a statement alone that ends in a conflict (%s) is done again', async (state) => {
    expect((await database.one(failTwice, [state])).attempts % 3).toBe(0);
    // The retries are limited.
    await expect(database.run(fail, [state])).rejects.toMatchObject({ code: state });
  });
});

test('a server that is not there is DATABASE_UNAVAILABLE, retryable', async () => {
  const nowhere = openDatabase({
    connectionString: 'postgresql://davit@localhost/davit?host=%2Fnonexistent',
    applicationName: 'test',
    maximumConnections: 1,
  });
  const expected = { code: 'DATABASE_UNAVAILABLE', retryable: true };
  await expect(nowhere.many(select)).rejects.toMatchObject(expected);
  await expect(nowhere.transaction((tx) => tx.many(select))).rejects.toMatchObject(expected);
  await nowhere.close();
});

test('a database that nobody may connect to for a while is DATABASE_UNAVAILABLE', async () => {
  const locked = await createTestDatabase({ isMigrated: false });
  const name = statement<{ name: string }>('test_database_name', 'select current_database() as name');
  const other = (await locked.database.one(name)).name;
  const narrow = openDatabase({ connectionString: locked.connectionString, applicationName: 'test', maximumConnections: 1 });
  await database.run(statement('test_lock', `alter database ${other} allow_connections false`));
  expect(await failureOf(narrow.one(name))).toBeInstanceOf(DatabaseUnavailable);
  await database.run(statement('test_unlock', `alter database ${other} allow_connections true`));
  expect(await narrow.one(name)).toEqual({ name: other });
  await narrow.close();
  await locked.drop();
});

describe('a server that takes no changes', () => {
  const makeReadOnly = (isReadOnly: boolean): Promise<unknown> =>
    database.transaction(async (tx) => {
      const { name } = await tx.one(databaseName);
      await tx.run(isReadOnly ? alterReadOnly(name) : alterWritable(name));
    });
  const expected = { code: 'DATABASE_UNAVAILABLE', retryable: true, message: expect.stringContaining('accepts no changes') };
  afterEach(() => makeReadOnly(false));

  test('is refused, for locks and notifications too, until it takes them; who only reads is let in', async () => {
    await makeReadOnly(true);
    const { connectionString } = home;
    const narrow = openDatabase({ connectionString, applicationName: 'test', maximumConnections: 1 });
    await expect(narrow.many(select)).rejects.toMatchObject(expected);
    await expect(narrow.transaction((tx) => tx.many(select))).rejects.toMatchObject(expected);
    await expect(acquireSessionLock(connectionString, 'read only')).rejects.toMatchObject(expected);
    const reader = openDatabase({ connectionString, applicationName: 'test', maximumConnections: 1, readsOnly: true });
    expect(await reader.many(select)).toEqual([]);
    await reader.close();
    await makeReadOnly(false);
    expect(await narrow.many(select)).toEqual([]);
    await narrow.close();
  });

  test('is noticed by the statement that would change something, and its connection is not used again', async () => {
    const narrow = openDatabase({ connectionString: home.connectionString, applicationName: 'test', maximumConnections: 1 });
    const { pid } = await narrow.one(ownProcess);
    await narrow.run(setReadOnly);
    await expect(narrow.run(insert, [1, 'a', 0])).rejects.toMatchObject(expected);
    expect(await narrow.run(insert, [1, 'a', 0])).toBe(1);
    expect((await narrow.one(ownProcess)).pid).not.toBe(pid);
    await narrow.close();
  });
});

test('a connection that is lost during a statement is DATABASE_UNAVAILABLE, and the next statement works', async () => {
  const narrow = openDatabase({ connectionString: home.connectionString, applicationName: 'test', maximumConnections: 1 });
  const { pid } = await narrow.one(ownProcess);
  const sleep = statement('test_sleep', `select pg_sleep(60)`);
  const lost = failureOf(narrow.run(sleep));
  await database.run(terminate, [pid]);
  expect(await lost).toBeInstanceOf(DatabaseUnavailable);
  expect((await narrow.one(ownProcess)).pid).not.toBe(pid);

  const inside = failureOf(
    narrow.transaction(async (tx) => {
      await database.run(terminate, [(await tx.one(ownProcess)).pid]);
      await tx.many(select);
    }),
  );
  expect(await inside).toBeInstanceOf(DatabaseUnavailable);
  expect(await narrow.many(select)).toEqual([]);
  await narrow.close();
});

test('the loss of an idle connection is told and harms nothing', async () => {
  const reported = Promise.withResolvers<Error>();
  const narrow = openDatabase({
    connectionString: home.connectionString,
    applicationName: 'test',
    maximumConnections: 1,
    onIdleFailure: reported.resolve,
  });
  const { pid } = await narrow.one(ownProcess);
  await database.run(terminate, [pid]);
  expect((await reported.promise).message).toMatch(/terminating connection/);
  expect((await narrow.one(ownProcess)).pid).not.toBe(pid);
  await narrow.close();
});

test('a migration that changes a table under prepared statements is not noticed by those who use them', async () => {
  const everything = statement('test_everything', `select * from account`);
  await Promise.all(Array.from({ length: 10 }, () => database.many(everything)));
  await database.run(statement('test_alter', `alter table account add column note text`));
  const answers = await Promise.all(Array.from({ length: 20 }, () => database.many(everything)));
  expect(answers).toEqual(answers.map(() => []));
  expect(await database.transaction((tx) => tx.many(everything))).toEqual([]);
  await database.run(statement('test_alter_back', `alter table account drop column note`));
});

test('statements that do not fit the schema are found without running them', async () => {
  const good = { name: 'good', text: `select id from account where name = $1` };
  const column = { name: 'column', text: `select nme from account` };
  const parameter = { name: 'parameter', text: `select $1 is null` };
  const broken = await checkStatements(home.connectionString, [good, column, parameter]);
  expect(broken.map(({ name }) => name)).toEqual(['column', 'parameter']);
  expect(broken[0]?.message).toContain('"nme" does not exist');
});

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a failure');
}
