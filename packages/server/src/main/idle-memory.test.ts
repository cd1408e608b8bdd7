import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { giveBackMemory } from './idle-memory.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const mebibyte = 1024 * 1024;

test('memory is given back after the start, and after a busy time once the process is idle', () => {
  const process = { resident: 200 * mebibyte, worked: 0.01, collections: 0 };
  giveBackMemory({
    resident: () => process.resident,
    worked: () => process.worked,
    collect: () => {
      process.collections += 1;
      process.resident = 150 * mebibyte;
    },
  });
  vi.advanceTimersByTime(2_000);
  expect(process.collections).toBe(1);
  vi.advanceTimersByTime(600_000);
  expect(process.collections, 'nothing has grown').toBe(1);

  process.resident = 190 * mebibyte;
  process.worked = 0.6;
  vi.advanceTimersByTime(60_000);
  expect(process.collections, 'the process is busy').toBe(1);

  process.worked = 0.01;
  vi.advanceTimersByTime(600_000);
  expect(process.collections).toBe(2);
});
