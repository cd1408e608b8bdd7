import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { batchedStatement, forRequest, isUniqueViolation, statement, type ChangeRequest } from './index.ts';

let home: TestDatabase;
beforeAll(async () => {
  home = await createTestDatabase({ isMigrated: false });
  await home.database.run(
    statement(
      'test_change_table',
      `create table note (id integer primary key, output text default nullif(current_setting('davit.request', true), ''))`,
    ),
  );
});
afterAll(() => home.drop());

const insert = statement<{ output: string | null }>('test_change_insert', 'insert into note (id) values ($1) returning output');
const taking = batchedStatement<{ output: string | null }>(
  'test_change_taking',
  { id: 'int', setting: 'text', request: 'text' },
  (asked) => `with ${asked}, made as (
     insert into note (id, output) select id, coalesce(current_setting(setting, true), request) from asked returning id, output)
   select call, output from made join asked using (id)`,
);
const setting = statement<{ text: string | null }>(
  'test_change_setting',
  `select current_setting('davit.request', true) as text`,
);

const request: ChangeRequest = {
  operation: 'editNote',
  origin: 'API',
  actor: 'a',
  triggered_by: `O'Neill \\ "x" \u{1f600}`,
  user_agent: null,
  address: '127.0.0.1',
};

let next = 0;
const id = (): number => (next += 1);

test('a statement of its own carries the request, and leaves nothing of it on the connection', async () => {
  const { output } = await forRequest(request, () => home.database.one(insert, [id()]));
  expect(JSON.parse(output ?? '')).toEqual(request);
  expect((await home.database.one(insert, [id()])).output).toBeNull();
  expect((await home.database.one(setting)).text ?? '').toBe('');
});

test('a transaction carries it, in all of its statements', async () => {
  await forRequest(request, () =>
    home.database.transaction(async (tx) => {
      for (let n = 0; n < 2; n += 1) expect(JSON.parse((await tx.one(insert, [id()])).output ?? '')).toEqual(request);
    }),
  );
  expect((await home.database.one(setting)).text ?? '').toBe('');
});

test('requests at once do not mix', async () => {
  const operations = Array.from({ length: 100 }, (_, n) => `operation${n}`);
  const output = await Promise.all(
    operations.map((operation) => forRequest({ ...request, operation }, () => home.database.one(insert, [id()]))),
  );
  const seen: ChangeRequest[] = output.map((row) => JSON.parse(row.output ?? ''));
  expect(seen.map(({ operation }) => operation)).toEqual(operations);
});

test('a statement that fails says why and leaves its connection of use', async () => {
  const taken = id();
  await home.database.one(insert, [taken]);
  for (let n = 0; n < 30; n += 1) {
    const failing = forRequest(request, () => home.database.one(insert, [taken]));
    await expect(failing).rejects.toSatisfy((error: unknown) => isUniqueViolation(error, 'note_pkey'));
  }
  expect(JSON.parse((await forRequest(request, () => home.database.one(insert, [id()]))).output ?? '')).toEqual(request);
});

test('a statement that is prepared again after the table changed still carries it', async () => {
  const all = statement<{ output: string | null }>('test_change_all', 'insert into note (id) values ($1) returning *');
  await forRequest(request, () => home.database.one(all, [id()]));
  await home.database.run(statement('test_change_alter', 'alter table note add column more text'));
  expect(JSON.parse((await forRequest(request, () => home.database.one(all, [id()]))).output ?? '')).toEqual(request);
});

test('a batched statement gets the request as its last value; with a key to mark, or in a transaction, the setting has it', async () => {
  const values = (): unknown[] => [id(), 'davit.none'];
  const { database } = home;
  expect(JSON.parse((await forRequest(request, () => database.batched(taking, values())))?.output ?? '')).toEqual(request);
  expect((await database.batched(taking, values()))?.output).toBeNull();
  const keyed = { ...request, idempotency_id: 'x' };
  expect((await forRequest(keyed, () => database.batched(taking, values())))?.output).toBeNull();
  const inTransaction = forRequest(request, () => database.transaction((tx) => tx.batched(taking, values())));
  expect((await inTransaction)?.output).toBeNull();
});
