import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RateLimiter } from './rate-limit.ts';

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
