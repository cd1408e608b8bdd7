import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RateLimiter, type OthersCounts, type OwnCounts } from './rate-limit.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
});
afterEach(() => vi.useRealTimers());

const hour = 3_600_000;

test('a window ends after a minute, for all keys', () => {
  const limiter = new RateLimiter(2);
  expect([limiter.take('a'), limiter.take('a'), limiter.take('a'), limiter.take('b')]).toEqual([1, 0, -1, 1]);
  expect(limiter.secondsToReset()).toBe(60);
  vi.advanceTimersByTime(59_500);
  expect(limiter.take('a')).toBe(-2);
  expect(limiter.secondsToReset()).toBe(1);
  vi.advanceTimersByTime(500);
  expect([limiter.take('a'), limiter.peek('b')]).toEqual([1, 2]);
});

test.each([
  ['forward', hour],
  ['back', -hour],
])('a clock that is set %s neither ends a window nor prolongs it', (_direction, milliseconds) => {
  const limiter = new RateLimiter(1);
  limiter.take('a');
  vi.setSystemTime(Date.now() + milliseconds);
  expect(limiter.take('a')).toBe(-1);
  vi.advanceTimersByTime(60_000);
  expect(limiter.take('a')).toBe(0);
});

/** Returns a key's digest in the exchange with other processes, as the limiter computes it. */
function digestOf(key: string): string {
  const limiter = new RateLimiter(1);
  limiter.learn({ minute: 0, millisecondsLeft: 1000, keys: [], counts: [] }, limiter.unreported(1));
  limiter.take(key);
  return limiter.unreported(1).keys[0] ?? '';
}

interface Lesson {
  readonly minute: number;
  readonly left: number;
  readonly others?: Readonly<Record<string, number>>;
}

function lesson({ minute, left, others = {} }: Lesson): OthersCounts {
  const keys = Object.keys(others).map((key) => digestOf(key));
  return { minute, millisecondsLeft: left, keys, counts: Object.values(others) };
}

/** Reports and merges counts in one exchange. */
function exchange(limiter: RateLimiter, received: Lesson): OwnCounts {
  const own = limiter.unreported(100);
  limiter.learn(lesson(received), own);
  return own;
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
    exchange(limiter, { minute: 7, left: 30_000, others: { a: 3, b: 9 } });
    expect([limiter.take('a'), limiter.take('b'), limiter.take('b'), limiter.take('c')]).toEqual([5, 0, -1, 9]);
    exchange(limiter, { minute: 7, left: 30_000, others: { a: 5 } });
    expect([limiter.take('a'), limiter.peek('b')]).toEqual([2, 8]);
  });

  test('a key that comes here for the first time is limited by what they have counted', () => {
    const limiter = new RateLimiter(10);
    exchange(limiter, { minute: 7, left: 30_000, others: { a: 10 } });
    expect([limiter.peek('a'), limiter.take('a')]).toEqual([0, -1]);
  });

  test('the window ends when they say, and the next ones each a minute later', () => {
    const limiter = new RateLimiter(5);
    limiter.take('a');
    exchange(limiter, { minute: 7, left: 20_500, others: { a: 1 } });
    expect(limiter.take('a')).toBe(2);
    expect(limiter.secondsToReset()).toBe(21);
    vi.advanceTimersByTime(20_500);
    expect(limiter.isCounting()).toBe(false);
    expect(limiter.take('a')).toBe(4);
    expect(limiter.secondsToReset()).toBe(60);
    // After a long time without requests, the windows still begin at the same moments.
    vi.advanceTimersByTime(10 * 60_000 + 15_000);
    expect(limiter.take('a')).toBe(4);
    expect(limiter.secondsToReset()).toBe(45);
    expect(limiter.unreported(9).minute).toBe(18);
  });

  test.each([
    ['forward', hour],
    ['back', -hour],
  ])('a clock of this machine that is set %s changes no window', (_direction, milliseconds) => {
    const limiter = new RateLimiter(5);
    exchange(limiter, { minute: 7, left: 20_000 });
    limiter.take('a');
    vi.setSystemTime(Date.now() + milliseconds);
    expect([limiter.take('a'), limiter.secondsToReset()]).toEqual([3, 20]);
    vi.advanceTimersByTime(20_000);
    expect([limiter.take('a'), limiter.unreported(9).minute]).toEqual([4, 8]);
  });

  test('counts that arrive after the window has turned do not count in the new one', () => {
    const limiter = new RateLimiter(5);
    exchange(limiter, { minute: 7, left: 2_000 });
    limiter.take('a');
    const own = limiter.unreported(9);
    const answer = lesson({ minute: 7, left: 1_900, others: { a: 4 } });
    vi.advanceTimersByTime(9_000);
    expect(limiter.take('a')).toBe(4);
    limiter.learn(answer, own);
    expect(limiter.take('a')).toBe(3);
    // The window does not move either: the exchange took nine seconds.
    expect(limiter.secondsToReset()).toBe(53);
    expect(limiter.unreported(9)).toMatchObject({ minute: 8, counts: [2] });
  });

  test('a window that ended a moment early or late is theirs again with the next answer', () => {
    const limiter = new RateLimiter(5);
    exchange(limiter, { minute: 7, left: 1_000 });
    vi.advanceTimersByTime(1_000);
    limiter.take('a');
    exchange(limiter, { minute: 7, left: 300 });
    expect([limiter.take('a'), limiter.secondsToReset(), limiter.unreported(9).minute]).toEqual([3, 60, 8]);
    vi.advanceTimersByTime(60_000);
    exchange(limiter, { minute: 9, left: 59_000, others: { a: 1 } });
    expect([limiter.take('a'), limiter.secondsToReset()]).toEqual([3, 59]);
  });

  test('a window of another clock begins anew', () => {
    const limiter = new RateLimiter(5);
    exchange(limiter, { minute: 700, left: 30_000 });
    limiter.take('a');
    exchange(limiter, { minute: 640, left: 50_000, others: { a: 2 } });
    expect([limiter.take('a'), limiter.secondsToReset(), limiter.unreported(9).minute]).toEqual([2, 50, 640]);
  });

  test('they are told of keys from a twentieth of the limit on, when they have changed, and never in clear', () => {
    const limiter = new RateLimiter(100);
    exchange(limiter, { minute: 7, left: 30_000 });
    takeOften(limiter, 'token', 5);
    takeOften(limiter, '192.0.2.1', 4);
    const own = exchange(limiter, { minute: 7, left: 30_000 });
    expect(own.counts).toEqual([5]);
    expect(own.keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(limiter.unreported(9).keys).toEqual([]);
    limiter.take('token');
    limiter.take('192.0.2.1');
    expect(limiter.unreported(9).counts).toEqual([6, 5]);
  });

  test('what they were not told, as it was too much or the answer never came, they are told the next time', () => {
    const limiter = new RateLimiter(20);
    exchange(limiter, { minute: 7, left: 30_000 });
    for (const key of ['a', 'b', 'c']) limiter.take(key);
    const reported = limiter.unreported(2);
    expect(limiter.unreported(2)).toEqual(reported);
    limiter.take('a');
    limiter.learn(lesson({ minute: 7, left: 30_000 }), reported);
    expect(limiter.unreported(9)).toMatchObject({ keys: [digestOf('c'), digestOf('a')], counts: [1, 2] });
  });

  test('before it knows the window it tells nothing, and keeps what it has counted', () => {
    const limiter = new RateLimiter(5);
    limiter.take('a');
    expect(limiter.unreported(9)).toMatchObject({ minute: null, keys: [] });
    exchange(limiter, { minute: 7, left: 30_000 });
    expect(limiter.unreported(9)).toMatchObject({ minute: 7, counts: [1] });
    expect(limiter.take('a')).toBe(3);
  });
});
