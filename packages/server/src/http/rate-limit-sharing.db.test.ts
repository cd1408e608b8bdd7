import { hash } from 'node:crypto';
import { statement, type Database, type Statement } from '@davit/db';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { failingDatabase } from '@davit/testkit/failing-database';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { RateLimitSharing } from './rate-limit-sharing.ts';
import { RateLimiter } from './rate-limit.ts';
import { untilWindowLasts, windowSecondsLeft } from './testing.ts';

interface Process {
  readonly limiter: RateLimiter;
  readonly sharing: RateLimitSharing;
  readonly warnings: string[];
}

function startProcess(limit: number, database: Database): Process {
  const limiter = new RateLimiter(limit);
  const warnings: string[] = [];
  const log = { warn: (_details: object, message: string) => void warnings.push(message) };
  return { limiter, sharing: new RateLimitSharing({ limiter, database, log }), warnings };
}

/** Runs two rounds of exchanges, so that every process has read the reports of all others. */
async function exchangeAll(...processes: readonly Process[]): Promise<void> {
  for (const { sharing } of [...processes, ...processes]) await sharing.exchange();
}

describe('processes of one database', () => {
  let own: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    own = await createTestDatabase();
    ({ database } = own);
  });
  afterAll(() => own.drop());
  beforeEach(async () => {
    await database.run(clear);
    // All requests of this test must be counted in one minute.
    const { limiter, sharing } = startProcess(1, database);
    await untilWindowLasts(10, async () => {
      await sharing.exchange();
      return limiter.secondsToReset();
    });
  });
  afterEach(() => vi.useRealTimers());

  test('count together, and none counts twice', async () => {
    const [one, two, three] = [startProcess(10, database), startProcess(10, database), startProcess(10, database)];
    await exchangeAll(one, two, three);
    for (const { limiter } of [one, one, two, three]) limiter.take('token');
    await exchangeAll(one, two, three);
    await exchangeAll(one, two, three);
    expect([one, two, three].map(({ limiter }) => limiter.peek('token'))).toEqual([6, 6, 6]);
    expect(one.limiter.peek('other')).toBe(10);
    one.limiter.take('token');
    await exchangeAll(one, two, three);
    expect([one, two, three].map(({ limiter }) => limiter.take('token'))).toEqual([4, 4, 4]);
  });

  test('refuse a caller that has used up the limit elsewhere', async () => {
    const [one, two] = [startProcess(3, database), startProcess(3, database)];
    await exchangeAll(one, two);
    for (let count = 0; count < 4; count += 1) one.limiter.take('token');
    await exchangeAll(one, two);
    expect(two.limiter.take('token')).toBeLessThan(0);
    expect(two.limiter.take('other')).toBe(2);
  });

  test('remember what one has counted that was started anew', async () => {
    const former = startProcess(10, database);
    await former.sharing.exchange();
    for (let count = 0; count < 4; count += 1) former.limiter.take('token');
    await former.sharing.exchange();
    await former.sharing.stop();
    const latter = startProcess(10, database);
    await latter.sharing.start();
    expect(latter.limiter.take('token')).toBe(5);
    await exchangeAll(latter);
    expect(latter.limiter.take('token')).toBe(4);
    await latter.sharing.stop();
  });

  test('store no token and no address, and nothing of former minutes or of later ones', async () => {
    const one = startProcess(10, database);
    await database.run(insert, [-1]);
    await database.run(insert, [60]);
    await one.sharing.exchange();
    one.limiter.take('192.0.2.1');
    await one.sharing.exchange();
    expect(await database.many(stored)).toEqual([{ key: hash('sha256', '192.0.2.1').slice(0, 32), count: 1, since: 0 }]);
  });

  test('count each for itself while the database is away, with one warning, and together again when it is back', async () => {
    let isAway = false;
    const [one, two] = [
      startProcess(
        10,
        failingDatabase(database, () => isAway),
      ),
      startProcess(10, database),
    ];
    await exchangeAll(one, two);
    isAway = true;
    one.limiter.take('token');
    two.limiter.take('token');
    await exchangeAll(one, two);
    await exchangeAll(one, two);
    expect([one, two].map(({ limiter }) => limiter.peek('token'))).toEqual([9, 9]);
    expect(one.warnings).toEqual([expect.stringContaining('this process counts alone')]);
    isAway = false;
    await exchangeAll(one, two);
    expect([one, two].map(({ limiter }) => limiter.peek('token'))).toEqual([8, 8]);
    isAway = true;
    await one.sharing.exchange();
    expect(one.warnings).toHaveLength(2);
  });

  test('ask the database once a second while they answer, and not at all while nobody comes, without a limit, or after the end', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const requested: Statement[] = [];
    const noting = failingDatabase(database, (what) => requested.push(what) < 0);
    const exchanges = (): number => requested.filter(({ name }) => name === 'rate_counts_exchange').length;
    const unlimited = startProcess(0, noting);
    await unlimited.sharing.start();
    const one = startProcess(10, noting);
    await one.sharing.start();
    expect(exchanges()).toBe(1);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(exchanges()).toBe(1);
    one.limiter.take('token');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(exchanges()).toBe(2);
    await one.sharing.stop();
    one.limiter.take('token');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(exchanges()).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});

const clear = statement('test_rate_counts_clear', 'delete from rate_count');
const present = 'floor(extract(epoch from clock_timestamp()) / 60)::bigint';
const insert = statement(
  'test_rate_counts_insert',
  `insert into rate_count (minute, key, process, count) values (${present} + $1::int, '\\x00', gen_random_uuid(), 1)`,
);
const stored = statement(
  'test_rate_counts_stored',
  `select encode(key, 'hex') as key, count, ${present} - minute as since from rate_count`,
);

describe('two servers', () => {
  let servers: readonly [TestServer, TestServer];
  beforeAll(async () => {
    const environment = { DAVIT_RATE_LIMIT: '100' };
    const first = await startTestServer({ environment });
    servers = [first, await startTestServer({ beside: first, environment })];
  });
  afterAll(async () => {
    for (const server of servers.toReversed()) await server.close();
  });

  async function ask({ baseUrl, adminToken }: TestServer): Promise<{ status: number; remaining: number; seconds: number }> {
    const { status, headers } = await fetch(`${baseUrl}/organization`, { headers: { authorization: `Token ${adminToken}` } });
    return {
      status,
      remaining: Number(headers.get('x-ratelimit-remaining')),
      seconds: Number(headers.get('x-ratelimit-reset')),
    };
  }

  test('of one database keep one limit: what is used up at the one is refused by the other', async () => {
    const [one, two] = servers;
    await untilWindowLasts(15, () => windowSecondsLeft(one));
    const first = await ask(two);
    expect(first).toMatchObject({ status: 200, remaining: 99 });
    for (let count = 0; count < 50; count += 1) await ask(one);
    // Without sharing, process two would get there only after forty more requests, which take ten seconds.
    const every = { interval: 250, timeout: 8_000 };
    await expect.poll(async () => (await ask(two)).remaining, every).toBeLessThan(60);
    const { remaining, seconds } = await ask(one);
    expect(remaining).toBeLessThan(50);
    expect(Math.abs(seconds - (await ask(two)).seconds)).toBeLessThanOrEqual(1);
    while ((await ask(one)).status === 200);
    await expect.poll(async () => (await ask(two)).status, every).toBe(429);
    expect((await ask(two)).remaining).toBe(0);
  });
});
