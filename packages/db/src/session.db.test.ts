import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { acquireSessionLock, heldSessionLocks, listen, statement } from './index.ts';

const notify = statement('test_notify', `select pg_notify($1, $2)`);
const terminateByName = statement(
  'test_terminate_by_name',
  `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = $1`,
);

let home: TestDatabase;
beforeAll(async () => {
  home = await createTestDatabase({ isMigrated: false });
});
afterAll(() => home.drop());

test('notifications of the named channels arrive, also after the connection was lost and listening resumed', async () => {
  const received: string[] = [];
  const reconnected = vi.fn<() => void>();
  const listener = await listen({
    connectionString: home.connectionString,
    channels: ['first', 'Second "channel"'],
    onNotification: ({ channel, payload }) => received.push(`${channel}: ${payload}`),
    onReconnect: reconnected,
  });
  await home.database.run(notify, ['first', 'a']);
  await home.database.run(notify, ['other', 'not heard']);
  await home.database.run(notify, ['Second "channel"', 'b']);
  await vi.waitFor(() => expect(received).toEqual(['first: a', 'Second "channel": b']));

  expect(await home.database.run(terminateByName, ['davit listen'])).toBe(1);
  await vi.waitFor(() => expect(reconnected).toHaveBeenCalledOnce());
  await home.database.run(notify, ['first', 'c']);
  await vi.waitFor(() => expect(received.at(-1)).toBe('first: c'));

  await listener.close();
  expect(await home.database.run(terminateByName, ['davit listen'])).toBe(0);
});

test('listening to a server that is not there fails at once', async () => {
  const nowhere = listen({
    connectionString: 'postgresql://davit@localhost/davit?host=%2Fnonexistent',
    channels: ['first'],
    onNotification: () => undefined,
    onReconnect: () => undefined,
  });
  await expect(nowhere).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
});

test('only one session has a lock, and others see that it is held', async () => {
  const lock = await acquireSessionLock(home.connectionString, 'serve');
  expect(lock?.held).toBe(true);
  expect(await acquireSessionLock(home.connectionString, 'serve')).toBeNull();
  expect(await heldSessionLocks(home.database, ['serve', 'runner 7'])).toEqual(new Set(['serve']));
  await lock?.release();
  expect(lock?.held).toBe(false);
  expect(await heldSessionLocks(home.database, ['serve'])).toEqual(new Set());
  const again = await acquireSessionLock(home.connectionString, 'serve');
  expect(again?.held).toBe(true);
  await again?.release();
});

test('a lock is lost with its connection, and its holder is told', async () => {
  const lock = await acquireSessionLock(home.connectionString, 'runner 7');
  await home.database.run(terminateByName, ['davit lock runner 7']);
  await lock?.lost;
  expect(lock?.held).toBe(false);
  await vi.waitFor(async () => expect(await heldSessionLocks(home.database, ['runner 7'])).toEqual(new Set()));
});

test('a lock whose server did not answer in time is lost, and can be taken again', async () => {
  // The process was suspended while the response was in transit: it sees the timeout before it sees the response.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  const lock = await acquireSessionLock(home.connectionString, 'runner 8');
  vi.advanceTimersByTime(10_000);
  vi.advanceTimersByTime(5_000);
  vi.useRealTimers();
  await lock?.lost;
  expect(lock?.held).toBe(false);
  const again = await vi.waitFor(async () => {
    const taken = await acquireSessionLock(home.connectionString, 'runner 8');
    expect(taken?.held).toBe(true);
    return taken;
  });
  await again?.release();
});

test('locks whose numbers are negative or use all 64 bits are seen as held', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `name ${index}`);
  const locks = await Promise.all(names.map((name) => acquireSessionLock(home.connectionString, name)));
  expect(await heldSessionLocks(home.database, names)).toEqual(new Set(names));
  for (const lock of locks) await lock?.release();
});
