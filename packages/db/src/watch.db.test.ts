import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { acquireSessionLock, openDatabase, statement } from './index.ts';
import { ConnectionPool } from './pool.ts';
import { lockKey } from './session-lock.ts';

/**
 * A proxy to the database that can fall silent, as if power or network failed: it forwards nothing any more, and closes
 * nothing.
 */
interface Way {
  readonly connectionString: string;
  /** Number of connections that were made. */
  readonly made: number;
  /** Silences the existing connections. Later connections are silenced too, unless `newOnes` is set. */
  fallSilent(options: { readonly newOnes: boolean }): void;
  /** Forwards later connections again. */
  recover(): void;
  close(): void;
}

async function openWay(connectionString: string): Promise<Way> {
  const url = new URL(connectionString);
  const socket = `${url.searchParams.get('host')}/.s.PGSQL.${url.searchParams.get('port') ?? '5432'}`;
  const pairs: [Socket, Socket][] = [];
  let made = 0;
  let isSilent = false;
  const listening = createServer((from) => {
    made += 1;
    const to = connect(socket);
    pairs.push([from, to]);
    from.on('error', () => to.destroy()).on('close', () => to.destroy());
    to.on('error', () => from.destroy()).on('close', () => from.destroy());
    if (isSilent) return;
    from.pipe(to);
    to.pipe(from);
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a server that listens on a port
  const { port } = listening.address() as AddressInfo;
  return {
    connectionString: `postgresql://${url.username}@127.0.0.1:${port}${url.pathname}`,
    get made() {
      return made;
    },
    fallSilent: ({ newOnes }) => {
      isSilent = !newOnes;
      for (const [from, to] of pairs) {
        from.unpipe(to);
        to.unpipe(from);
        from.removeAllListeners('close');
        to.removeAllListeners('close');
      }
    },
    recover: () => {
      isSilent = false;
    },
    close: () => {
      for (const [from, to] of pairs) {
        from.destroy();
        to.destroy();
      }
      listening.close();
    },
  };
}

let home: TestDatabase;
let way: Way;
beforeAll(async () => {
  home = await createTestDatabase({ isMigrated: false });
});
afterAll(() => home.drop());
beforeEach(async () => {
  way = await openWay(home.connectionString);
});
afterEach(() => {
  vi.useRealTimers();
  way.close();
});

const answer = statement<{ answer: number }>('test_watch_answer', 'select 1 as answer');

/** Checks fifty times as often as in production. */
function openPool(): ConnectionPool {
  return new ConnectionPool({
    settings: { connectionString: way.connectionString },
    maximumConnections: 2,
    waitMilliseconds: 1_000,
    lifetimeMilliseconds: 60_000,
    onIdleFailure: () => undefined,
    watch: { lookEveryMilliseconds: 20, answerWithinMilliseconds: 1_000 },
  });
}

test('statements that never arrived fail with DATABASE_UNAVAILABLE after some seconds, and the next ones work', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { connectionString } = way;
  const database = openDatabase({ connectionString, applicationName: 'test', maximumConnections: 3 });
  await Promise.all([1, 2, 3].map(() => database.one(answer)));
  expect(way.made).toBe(3);
  // Simulates a network device that forgets its connections, or another machine that takes over the address.
  way.fallSilent({ newOnes: true });
  const failure = database.one(answer).catch((error: unknown) => error);
  const inTransaction = database.transaction((tx) => tx.one(answer)).catch((error: unknown) => error);
  let failures: unknown[] = [];
  void Promise.all([failure, inTransaction]).then((both) => (failures = both));
  await vi.waitFor(
    () => {
      vi.advanceTimersByTime(1_000);
      expect(failures).toHaveLength(2);
    },
    { timeout: 20_000 },
  );
  expect(failures).toEqual([1, 2].map(() => expect.objectContaining({ code: 'DATABASE_UNAVAILABLE' })));
  // The third connection, which was idle, is not reused either.
  expect(await database.one(answer)).toEqual({ answer: 1 });
  await database.close();
});

test('when nobody answers all statements fail, and they work again once somebody does', async () => {
  const pool = openPool();
  const [first, second] = [await pool.take(), await pool.take()];
  pool.giveBack(second);
  way.fallSilent({ newOnes: false });
  await expect(first.query(answer.text)).rejects.toThrow('Connection terminated: the database does not answer');
  pool.giveBack(first, true);
  expect(pool.takeIdle()).toBeUndefined();
  await expect(pool.take()).rejects.toThrow('timeout');
  way.recover();
  const next = await pool.take();
  expect(await valueOf(next)).toBe(1);
  pool.giveBack(next);
  await pool.close();
});

test('a statement that the server works on may take as long as it takes', async () => {
  const lock = await acquireSessionLock(home.connectionString, 'watch');
  const pool = openPool();
  const client = await pool.take();
  const waiting = client.query('select pg_advisory_lock_shared($1)', [lockKey('watch')]);
  // The server is queried repeatedly, at increasing intervals.
  await vi.waitFor(() => expect(way.made).toBeGreaterThan(4), { timeout: 20_000 });
  await lock?.release();
  await waiting;
  expect(await valueOf(client)).toBe(1);
  pool.giveBack(client);
  await pool.close();
});

async function valueOf(client: Client): Promise<unknown> {
  return (await client.query<{ answer: number }>(answer.text)).rows[0]?.answer;
}
