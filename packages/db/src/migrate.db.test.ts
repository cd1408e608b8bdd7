import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { migrate, statement, type MigrateResult } from './index.ts';

const applied = statement<{ number: number; name: string }>(
  'test_applied',
  `select number, name from davit_migration order by number`,
);
const tables = statement<{ name: string }>(
  'test_tables',
  `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
);

let home: TestDatabase;
let folder: string;
beforeEach(async () => {
  home = await createTestDatabase({ isMigrated: false });
  folder = await mkdtemp(path.join(tmpdir(), 'davit-migrations-'));
});
afterEach(async () => {
  await home.drop();
  await rm(folder, { recursive: true });
});

const write = (file: string, text: string): Promise<void> => writeFile(path.join(folder, file), text);
const run = (): Promise<MigrateResult> => migrate({ connectionString: home.connectionString, folder });

test('migrations are applied in order, once, and recorded', async () => {
  await write('0001-start.sql', 'create table a (id int); insert into a values (1);');
  await write('0002-more.sql', 'alter table a add column b text; -- a comment at the end');
  expect(await run()).toEqual({ applied: ['0001-start', '0002-more'], current: 2 });
  expect(await run()).toEqual({ applied: [], current: 2 });
  await write('0003-last.sql', 'create table c ();');
  expect(await run()).toEqual({ applied: ['0003-last'], current: 3 });
  expect(await home.database.many(applied)).toEqual([
    { number: 1, name: '0001-start' },
    { number: 2, name: '0002-more' },
    { number: 3, name: '0003-last' },
  ]);
});

test('of several processes that start at once one migrates and the others wait for it', async () => {
  await write('0001-slow.sql', 'select pg_sleep(0.2); create table a (id int);');
  const results = await Promise.all([run(), run(), run(), run()]);
  expect(results.flatMap(({ applied }) => applied)).toEqual(['0001-slow']);
  expect(results.map(({ current }) => current)).toEqual([1, 1, 1, 1]);
});

test('a migration that fails leaves nothing of itself, and says file and line', async () => {
  await write('0001-good.sql', 'create table a (id int);');
  await write('0002-bad.sql', 'create table b (id int);\n\nSELECT missing from b;');
  await expect(run()).rejects.toMatchObject({
    code: 'MIGRATION_FAILED',
    message: expect.stringMatching(/0002-bad failed at line 3: column "missing" does not exist/),
  });
  expect((await home.database.many(tables)).map(({ name }) => name)).toEqual(['a', 'davit_migration']);
  await write('0002-bad.sql', 'create table b (id int);');
  expect((await run()).applied).toEqual(['0002-bad']);
});

test('a migration that ends its own transaction is refused', async () => {
  await write('0001-commit.sql', 'create table a (id int); commit;');
  await expect(run()).rejects.toMatchObject({
    code: 'MIGRATION_FAILED',
    message: expect.stringContaining('ends the transaction'),
  });
});

test('a program works with the schema of a newer one, unless a migration needs one that knows more', async () => {
  await write('0001-start.sql', 'create table a (id int, old int);');
  await write('0002-newer.sql', 'create table b (id int);');
  await write('0003-tidy.sql', '-- Needs 0002: it stopped reading old.\nALTER TABLE a DROP COLUMN old;');
  await run();
  await rm(path.join(folder, '0003-tidy.sql'));
  expect(await run()).toEqual({ applied: [], current: 3 });
  await rm(path.join(folder, '0002-newer.sql'));
  await expect(run()).rejects.toMatchObject({ code: 'DATABASE_NEWER', message: expect.stringContaining('0003-tidy') });
});

test('a newer program goes on with a database whose migrations say nothing of what they need', async () => {
  await write('0001-start.sql', 'create table a (id int);');
  await run();
  await home.database.run(statement('test_without_needs', 'alter table davit_migration drop column needs'));
  await write('0002-more.sql', '-- Needs 0002: a has another meaning.\nSELECT 1;');
  expect((await run()).applied).toEqual(['0002-more']);
  await rm(path.join(folder, '0002-more.sql'));
  await expect(run()).rejects.toMatchObject({ code: 'DATABASE_NEWER' });
});

describe('while another transaction reads for long, as a dump does', () => {
  /** Reads the table in a transaction that stays open while `action` runs. */
  async function whileRead(table: string, action: (end: () => Promise<void>) => Promise<void>): Promise<void> {
    const dump = new Client({ connectionString: home.connectionString, application_name: 'dump' });
    await dump.connect();
    try {
      await dump.query(`begin; lock table ${table} in access share mode`);
      await action(async () => {
        await dump.query('COMMIT');
      });
    } finally {
      await dump.end();
    }
  }

  test('a start with nothing to do does not wait', async () => {
    await write('0001-start.sql', 'create table a (id int);');
    await run();
    await whileRead('davit_migration', async () => {
      expect(await run()).toEqual({ applied: [], current: 1 });
    });
  });

  /** Migrates, and records its waits. */
  function migrating(waits: string[]): Promise<MigrateResult> {
    return migrate({
      connectionString: home.connectionString,
      folder,
      lockWaitMilliseconds: 50,
      onWaiting: ({ migration, holders }) => waits.push(`${migration} ${holders.join(', ')}`),
    });
  }

  async function waiting(waits: readonly string[]): Promise<void> {
    await vi.waitFor(() => expect(waits.length).toBeGreaterThan(1), { timeout: 20_000 });
  }

  test('a migration lets others pass while it waits, says for whom, and is applied afterwards', async () => {
    await write('0001-start.sql', 'create table a (id int);');
    await run();
    await write('0002-more.sql', 'create table b (id int); alter table a add column b text;');
    await whileRead('a', async (end) => {
      const waits: string[] = [];
      const result = migrating(waits);
      await waiting(waits);
      expect(waits[0]).toMatch(/^0002-more dump \(process \d+, for \d+ s\)$/);
      await end();
      expect(await result).toEqual({ applied: ['0002-more'], current: 2 });
    });
  });

  test('a program of the version before starts beside one whose migration waits', async () => {
    await write('0001-start.sql', 'create table a (id int);');
    await run();
    await write('0002-more.sql', 'alter table a add column b text;');
    await whileRead('a', async (end) => {
      const waits: string[] = [];
      const result = migrating(waits);
      await waiting(waits);
      await rm(path.join(folder, '0002-more.sql'));
      expect(await run()).toEqual({ applied: [], current: 1 });
      await end();
      expect(await result).toEqual({ applied: ['0002-more'], current: 2 });
    });
  });

  test('a process that waits for another one that migrates says so, and finds all done then', async () => {
    await write('0001-start.sql', 'create table a (id int);');
    await run();
    await write('0002-more.sql', 'alter table a add column b text;');
    await whileRead('a', async (end) => {
      const [first, second]: [string[], string[]] = [[], []];
      const result = migrating(first);
      await waiting(first);
      const later = migrating(second);
      await waiting(second);
      expect(second[0]).toMatch(/^0002-more davit migrate \(process \d+, for \d+ s\)$/);
      await end();
      expect([await result, await later].map(({ applied }) => applied)).toEqual([['0002-more'], []]);
    });
  });
});

test('a migration cannot need one that comes after it', async () => {
  await write('0001-start.sql', '-- Needs 0002: what is not there yet.\nSELECT 1;');
  await expect(run()).rejects.toThrow('needs 0002, which comes after it');
});

test('an applied migration whose text has changed is refused', async () => {
  await write('0001-start.sql', 'create table a (id int);');
  await run();
  await write('0001-start.sql', 'create table a (id bigint);');
  await expect(run()).rejects.toMatchObject({ code: 'MIGRATION_CHANGED', message: expect.stringContaining('0001-start') });
});

test.each([['0002-gap.sql'], ['1-short.sql'], ['0001-Upper.sql']])('a file named %s is refused', async (file) => {
  await write(file, 'select 1;');
  await expect(run()).rejects.toThrow('missing or misnamed');
});

test('a server that is not there is DATABASE_UNAVAILABLE', async () => {
  const nowhere = migrate({ connectionString: 'postgresql://davit@localhost/davit?host=%2Fnonexistent', folder });
  await expect(nowhere).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
});
