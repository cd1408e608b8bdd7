import { expect, test } from 'vitest';
import { median, percentile, ratioOf, toSeries } from './statistics.ts';

test('the median is the value in the middle, whatever the order', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([])).toBeNaN();
});

test('the 99th percentile of a hundred values is exceeded by one of them', () => {
  const values = Array.from({ length: 100 }, (_, index) => index + 1);
  expect(percentile(values, 0.99)).toBe(99);
  expect(percentile(values, 0.5)).toBe(50);
  expect(percentile([7], 0.99)).toBe(7);
});

test('a machine that gets slower for both sides leaves the ratio alone', () => {
  expect(ratioOf(toSeries([80, 40, 20]), toSeries([100, 50, 25]))).toBeCloseTo(0.8);
});
