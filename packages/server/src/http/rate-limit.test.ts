import { beforeEach, afterEach, describe, expect, test, vi } from 'vitest';
import { RateLimiter, type Report } from './rate-limit.ts';

const minuteBegins = Date.UTC(2026, 0, 1, 12);
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: minuteBegins });
});
afterEach(() => vi.useRealTimers());

const hour = 3_600_000;

test('counts begin anew with each minute of the clock, for all keys', () => {
  const limiter = new RateLimiter(2);
  expect([limiter.take('a'), limiter.take('a'), limiter.take('a'), limiter.take('b')]).toEqual([1, 0, -1, 1]);
  expect(limiter.secondsToReset()).toBe(60);
  vi.advanceTimersByTime(59_500);
  expect(limiter.take('a')).toBe(-2);
  expect(limiter.secondsToReset()).toBe(1);
  vi.advanceTimersByTime(500);
  expect([limiter.take('a'), limiter.peek('b')]).toEqual([1, 2]);
  expect(limiter.secondsToReset()).toBe(60);
});

test.each([
  ['forward', hour],
  ['back', -hour],
])('a clock that is set %s neither ends a minute nor prolongs it', (_direction, milliseconds) => {
  const limiter = new RateLimiter(1);
  limiter.take('a');
  vi.setSystemTime(Date.now() + milliseconds);
  expect(limiter.take('a')).toBe(-1);
  vi.advanceTimersByTime(60_000);
  expect(limiter.take('a')).toBe(0);
});

test('beyond 100,000 keys in a minute, all further keys share one counter', () => {
  const limiter = new RateLimiter(3);
  for (let key = 0; key < 100_000; key += 1) limiter.take(String(key));
  expect([limiter.take('x'), limiter.take('y'), limiter.take('0')]).toEqual([2, 1, 1]);
  // Its keys differ between processes, so it is not reported.
  expect(limiter.report().keys).toHaveLength(100_000);
});

/** Returns a key's digest in the exchange with other processes, as the limiter computes it. */
function digestOf(key: string): string {
  const limiter = new RateLimiter(1);
  limiter.take(key);
  return limiter.report().keys[0] ?? '';
}

interface Answer {
  readonly others?: Readonly<Record<string, number>>;
  /** Milliseconds by which the clock of the database is ahead of this machine's. */
  readonly ahead?: number;
  readonly tookMilliseconds?: number;
}

/** Ends an exchange that reported these counts, with the answer that the database gives at this moment. */
function learn(limiter: RateLimiter, report: Report, { others = {}, ahead = 0, tookMilliseconds = 0 }: Answer = {}): void {
  const now = Date.now() + ahead;
  const answer = {
    minute: Math.floor(now / 60_000),
    now,
    keys: Object.keys(others).map(digestOf),
    counts: Object.values(others),
  };
  vi.advanceTimersByTime(tookMilliseconds);
  limiter.learn(answer, report, tookMilliseconds);
}

function exchange(limiter: RateLimiter, answer: Answer = {}): Report {
  const report = limiter.report();
  learn(limiter, report, answer);
  return report;
}

function takeOften(limiter: RateLimiter, key: string, times: number): number {
  let left = limiter.peek(key);
  for (let count = 0; count < times; count += 1) left = limiter.take(key);
  return left;
}

describe('with other processes', () => {
  test('what they have counted is taken off, for each key its own, and replaces what was known before', () => {
    const limiter = new RateLimiter(10);
    limiter.take('a');
    exchange(limiter, { others: { a: 3, b: 9 } });
    expect([limiter.take('a'), limiter.take('b'), limiter.take('b'), limiter.take('c')]).toEqual([5, 0, -1, 9]);
    exchange(limiter, { others: { a: 5 } });
    expect([limiter.take('a'), limiter.peek('b')]).toEqual([2, 8]);
  });

  test('a key that comes here for the first time is limited by what they have counted', () => {
    const limiter = new RateLimiter(10);
    exchange(limiter, { others: { a: 10 } });
    expect([limiter.peek('a'), limiter.take('a')]).toEqual([0, -1]);
  });

  test('the minute is that of the database, whatever the clock of this machine says', () => {
    const limiter = new RateLimiter(5);
    exchange(limiter, { ahead: 10 * hour + 39_500 });
    limiter.take('a');
    expect(limiter.secondsToReset()).toBe(21);
    vi.advanceTimersByTime(20_500);
    expect(limiter.isCounting()).toBe(false);
    expect(limiter.take('a')).toBe(4);
    expect(limiter.secondsToReset()).toBe(60);
    // After a long time without requests, minutes still begin at the same moments.
    vi.advanceTimersByTime(10 * 60_000 + 15_000);
    expect(limiter.take('a')).toBe(4);
    expect(limiter.secondsToReset()).toBe(45);
    expect(limiter.report().minute).toBe(Math.floor(minuteBegins / 60_000) + 611);
  });

  test('a difference of less than a second, and the clock in a slow answer, change no minute', () => {
    const limiter = new RateLimiter(5);
    vi.advanceTimersByTime(59_500);
    limiter.take('a');
    exchange(limiter, { ahead: 900 });
    exchange(limiter, { ahead: -900 });
    expect([limiter.take('a'), limiter.secondsToReset()]).toEqual([3, 1]);
    exchange(limiter, { ahead: hour, tookMilliseconds: 2_000 });
    expect([limiter.take('a'), limiter.secondsToReset()]).toEqual([4, 59]);
  });

  test('counts that arrive after their minute do not count in the next one', () => {
    const limiter = new RateLimiter(5);
    vi.advanceTimersByTime(58_000);
    limiter.take('a');
    exchange(limiter, { others: { a: 4 }, tookMilliseconds: 9_000 });
    expect(limiter.take('a')).toBe(4);
    expect(limiter.secondsToReset()).toBe(53);
    expect(limiter.report().counts).toEqual([1]);
  });

  test('they are told of keys from a twentieth of the limit on, when they have changed, and never in clear', () => {
    const limiter = new RateLimiter(100);
    takeOften(limiter, 'token', 5);
    takeOften(limiter, '192.0.2.1', 4);
    const report = exchange(limiter);
    expect(report.counts).toEqual([5]);
    expect(report.keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(limiter.report().keys).toEqual([]);
    limiter.take('token');
    limiter.take('192.0.2.1');
    expect(limiter.report().counts).toEqual([6, 5]);
  });

  test('what was counted during an exchange, or whose answer never came, is reported the next time', () => {
    const limiter = new RateLimiter(20);
    for (const key of ['a', 'b', 'c']) limiter.take(key);
    const lost = limiter.report();
    const report = limiter.report();
    expect(report.keys).toEqual(lost.keys);
    limiter.take('a');
    learn(limiter, report);
    expect(limiter.report()).toMatchObject({ keys: [digestOf('a')], counts: [2] });
  });
});
