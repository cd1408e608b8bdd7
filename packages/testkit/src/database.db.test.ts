import { migrate, statement } from '@davit/db';
import { afterEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from './database.ts';

const migrated = statement<{ exists: boolean }>(
  'testkit_migrated',
  `select to_regclass('davit_migration') is not null as exists`,
);
const create = statement('testkit_create', `create table only_here (id int)`);
const find = statement<{ exists: boolean }>('testkit_find', `select to_regclass('only_here') is not null as exists`);

const installation = statement<{ id: string }>('testkit_installation', 'select id from installation');

const made: TestDatabase[] = [];
afterEach(async () => {
  for (const one of made.splice(0)) await one.drop();
});

async function make(isMigrated?: boolean): Promise<TestDatabase> {
  const one = await createTestDatabase({ isMigrated });
  made.push(one);
  return one;
}

test('each test database has the schema and shares nothing with the others', async () => {
  const [first, second] = [await make(), await make()];
  expect(await migrate({ connectionString: first.connectionString })).toMatchObject({ applied: [] });
  await first.database.run(create);
  expect(await first.database.one(find)).toEqual({ exists: true });
  expect(await second.database.one(find)).toEqual({ exists: false });
  const ids = [await first.database.one(installation), await second.database.one(installation)].map(({ id }) => id);
  expect(new Set(ids).size).toBe(2);
});

test('databases that are asked for at the same time all come to be', async () => {
  await Promise.all(Array.from({ length: 6 }, () => make()));
  const found = await Promise.all(made.map(({ database }) => database.one(migrated)));
  expect(found).toEqual(made.map(() => ({ exists: true })));
});

test('one that is not migrated is empty', async () => {
  const { database } = await make(false);
  expect(await database.one(migrated)).toEqual({ exists: false });
});
