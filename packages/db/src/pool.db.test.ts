import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { ConnectionPool } from './pool.ts';

let home: TestDatabase;
let pool: ConnectionPool;
const idleFailures: string[] = [];
beforeAll(async () => {
  home = await createTestDatabase({ isMigrated: false });
});
afterAll(() => home.drop());
beforeEach(() => {
  idleFailures.length = 0;
  pool = newPool({});
});
afterEach(() => pool.close());

function newPool(options: { readonly lifetimeMilliseconds?: number; readonly waitMilliseconds?: number }): ConnectionPool {
  return new ConnectionPool({
    settings: { connectionString: home.connectionString },
    maximumConnections: 2,
    waitMilliseconds: 5_000,
    lifetimeMilliseconds: 60_000,
    onIdleFailure: ({ message }) => idleFailures.push(message),
    ...options,
  });
}

async function processOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

async function end(pid: number): Promise<void> {
  const client = await pool.take();
  await client.query('select pg_terminate_backend($1)', [pid]);
  pool.giveBack(client);
}

test('a connection that was given back is used again, the last one first', async () => {
  expect(pool.takeIdle()).toBeUndefined();
  const [first, second] = [await pool.take(), await pool.take()];
  pool.giveBack(first);
  pool.giveBack(second);
  expect(pool.takeIdle()).toBe(second);
  expect(await pool.take()).toBe(first);
  pool.giveBack(first);
  pool.giveBack(second);
});

test('who comes when all are in use gets the next that is given back, in order', async () => {
  const [first, second] = [await pool.take(), await pool.take()];
  const third = pool.take();
  const fourth = pool.take();
  pool.giveBack(second);
  expect(await third).toBe(second);
  pool.giveBack(first);
  expect(await fourth).toBe(first);
  pool.giveBack(first);
  pool.giveBack(second);
});

test('who waits gets a new connection when one is given back spoilt', async () => {
  const [first, second] = [await pool.take(), await pool.take()];
  const third = pool.take();
  pool.giveBack(first, true);
  expect(await processOf(await third)).toBeGreaterThan(0);
  expect(await third).not.toBe(first);
  pool.giveBack(second);
  pool.giveBack(await third);
});

test('who waits too long is told, and takes nothing from who comes later', async () => {
  await pool.close();
  pool = newPool({ waitMilliseconds: 200 });
  const [first, second] = [await pool.take(), await pool.take()];
  await expect(pool.take()).rejects.toThrow('timeout exceeded when waiting for a free connection');
  pool.giveBack(first);
  expect(await pool.take()).toBe(first);
  pool.giveBack(first);
  pool.giveBack(second);
});

test('a connection that was lost while nobody used it is told and not given out', async () => {
  const lost = await pool.take();
  const pid = await processOf(lost);
  const other = await pool.take();
  pool.giveBack(lost);
  await other.query('select pg_terminate_backend($1)', [pid]);
  await vi.waitFor(() => expect(idleFailures).toHaveLength(1));
  pool.giveBack(other);
  expect(pool.takeIdle()).toBe(other);
  expect(pool.takeIdle()).toBeUndefined();
  pool.giveBack(other);
});

test('a connection that was lost while it was in use is not given out again', async () => {
  const lost = await pool.take();
  const gone = new Promise((resolve) => lost.once('end', resolve));
  await end(await processOf(lost));
  await gone;
  pool.giveBack(lost);
  const next = await pool.take();
  expect(next).not.toBe(lost);
  pool.giveBack(next);
  expect(idleFailures).toEqual([]);
});

test('a connection that is old is closed when nobody uses it, also if nobody comes', async () => {
  await pool.close();
  pool = newPool({ lifetimeMilliseconds: 100 });
  const client = await pool.take();
  const gone = new Promise((resolve) => client.once('end', resolve));
  pool.giveBack(client);
  await gone;
  expect(pool.takeIdle()).toBeUndefined();
});

test('closing waits for what is in use and refuses who waits', async () => {
  const [first, second] = [await pool.take(), await pool.take()];
  const waiting = pool.take();
  let isClosed = false;
  const closing = pool.close().then(() => (isClosed = true));
  await expect(waiting).rejects.toThrow('the database is closed');
  await expect(pool.take()).rejects.toThrow('the database is closed');
  pool.giveBack(first);
  expect(await processOf(second)).toBeGreaterThan(0);
  expect(isClosed).toBe(false);
  pool.giveBack(second);
  await closing;
});

test('a pool says how busy it is: connections, who waits, for how long they did, and who gave up', async () => {
  const short = newPool({ waitMilliseconds: 50 });
  try {
    expect(short.state).toEqual({ maximum: 2, busy: 0, idle: 0, waiting: 0, waits: 0, waitedSeconds: 0, timeouts: 0 });
    const [first, second] = [await short.take(), await short.take()];
    const third = short.take();
    expect(short.state).toMatchObject({ busy: 2, idle: 0, waiting: 1, waits: 1 });
    await expect(third).rejects.toThrow('timeout');
    expect(short.state).toMatchObject({ waiting: 0, waits: 1, timeouts: 1 });
    expect(short.state.waitedSeconds).toBeGreaterThan(0.04);
    const fourth = short.take();
    short.giveBack(first);
    short.giveBack(await fourth);
    expect(short.state).toMatchObject({ busy: 1, idle: 1, waiting: 0, waits: 2, timeouts: 1 });
    short.giveBack(second);
  } finally {
    await short.close();
  }
});
