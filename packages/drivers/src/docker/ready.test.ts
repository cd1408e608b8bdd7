import { expect, test } from 'vitest';
import { closedPauseMilliseconds } from './ready.ts';

test('a closed port is tried often at first, and less often after half a second and after two', () => {
  expect([0, 499, 500, 1_999, 2_000, 60_000].map(closedPauseMilliseconds)).toEqual([5, 5, 15, 15, 50, 50]);
});
