import { expect, test } from 'vitest';
import { LogRate } from './log-rate.ts';

test('a burst of ten seconds is kept, then so many lines a second, and a pause makes room again', () => {
  const rate = new LogRate(10, 0);
  const taken = (lines: number, now: number): number =>
    Array.from({ length: lines }, () => rate.takes(5, now)).filter(Boolean).length;
  expect(taken(500, 0)).toBe(100);
  expect(taken(500, 1_000)).toBe(10);
  expect(taken(500, 1_500)).toBe(5);
  expect(taken(500, 3_600_000)).toBe(100);
});

test('lines longer than a KiB count by their length, and 0 is without limit', () => {
  const rate = new LogRate(1, 0);
  expect([rate.takes(9 * 1024, 0), rate.takes(1025, 0), rate.takes(1024, 0)]).toEqual([true, false, true]);
  expect(new LogRate(0, 0).takes(1e12, 0)).toBe(true);
});
