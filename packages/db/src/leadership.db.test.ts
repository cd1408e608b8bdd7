import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { heldSessionLocks, Leadership, statement } from './index.ts';

const terminateByName = statement(
  'test_terminate_leader',
  `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = $1`,
);

let home: TestDatabase;
beforeAll(async () => {
  home = await createTestDatabase({ isMigrated: false });
});
afterAll(() => home.drop());

const open: Leadership[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const one of open.splice(0)) await one.release();
});

/** A lock as another process would hold it: with a separate session. */
function leadership(name: string, tryEveryMilliseconds?: number): Leadership {
  const { connectionString } = home;
  const made = new Leadership({
    connectionString,
    name,
    ...(tryEveryMilliseconds === undefined ? {} : { tryEveryMilliseconds }),
  });
  open.push(made);
  return made;
}

test('one of two leads, in one term however often it asks, and the other one leads once it is released', async () => {
  const [first, second] = [leadership('garden', 0), leadership('garden', 0)];
  const term = await first.take();
  expect(term?.aborted).toBe(false);
  expect(await first.take()).toBe(term);
  expect(await second.take()).toBeNull();
  await first.release();
  expect(term?.aborted).toBe(true);
  expect((await second.take())?.aborted).toBe(false);
  expect(await first.take()).toBeNull();
});

test('several asks at once are one try, and lead to one term', async () => {
  const [first, second] = [leadership('kitchen'), leadership('kitchen')];
  const terms = await Promise.all([first.take(), first.take(), first.take()]);
  expect(terms[0]?.aborted).toBe(false);
  expect(new Set(terms).size).toBe(1);
  await first.release();
  expect((await second.take())?.aborted).toBe(false);
});

test('who leads in one thing keeps nobody from leading in another', async () => {
  expect(await leadership('cellar').take()).not.toBeNull();
  expect(await leadership('attic').take()).not.toBeNull();
});

test('the term ends when the connection is cut, another one leads then, and the first is second', async () => {
  const [first, second] = [leadership('stable', 0), leadership('stable', 0)];
  const term = await first.take();
  expect(await second.take()).toBeNull();
  expect(await home.database.run(terminateByName, ['davit lock stable'])).toBe(1);
  await vi.waitFor(() => expect(term?.aborted).toBe(true));
  const next = await vi.waitFor(async () => {
    const taken = await second.take();
    expect(taken).not.toBeNull();
    return taken;
  });
  expect(await first.take()).toBeNull();
  expect(next?.aborted).toBe(false);
});

test('who was cut leads again in a new term', async () => {
  const only = leadership('tower', 0);
  const term = await only.take();
  await home.database.run(terminateByName, ['davit lock tower']);
  await vi.waitFor(async () => {
    const next = await only.take();
    expect(next?.aborted).toBe(false);
    expect(next).not.toBe(term);
  });
  expect(term?.aborted).toBe(true);
});

test('a try that found another one leading is not repeated within five seconds', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const [first, second] = [leadership('porch'), leadership('porch')];
  await first.take();
  expect(await second.take()).toBeNull();
  await first.release();
  vi.advanceTimersByTime(4_999);
  expect(await second.take()).toBeNull();
  vi.advanceTimersByTime(1);
  expect((await second.take())?.aborted).toBe(false);
});

test('who leaves ends its term at once, leads never again, and lets nobody lead before the release', async () => {
  const [first, second] = [leadership('mill', 0), leadership('mill', 0)];
  const term = await first.take();
  first.leave();
  expect(term?.aborted).toBe(true);
  expect(await first.take()).toBeNull();
  expect(await second.take()).toBeNull();
  await first.release();
  expect(await first.take()).toBeNull();
  expect((await second.take())?.aborted).toBe(false);
});

test('who leaves while it tries to lead gets no term, and keeps no lock after the release', async () => {
  const first = leadership('barn');
  const trying = first.take();
  first.leave();
  await first.release();
  expect(await trying).toBeNull();
  expect(await heldSessionLocks(home.database, ['barn'])).toEqual(new Set());
});

test('a database that is away is an error, and the next try is as far off as after any other', async () => {
  const connectionString = 'postgresql://davit@localhost/davit?host=%2Fnonexistent';
  const lost = new Leadership({ connectionString, name: 'well' });
  await expect(lost.take()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  expect(await lost.take()).toBeNull();
  await lost.release();
});
