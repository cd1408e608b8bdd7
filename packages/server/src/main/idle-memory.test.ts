import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { giveBackMemory } from './idle-memory.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const unexpected = (error: unknown): never => {
  throw error;
};

const mebibyte = 1024 * 1024;

test('memory is given back after the start, and after a busy time once the process is idle', async () => {
  const process = { resident: 200 * mebibyte, worked: 0.01, collections: 0 };
  giveBackMemory(unexpected, {
    resident: () => process.resident,
    worked: () => process.worked,
    collect: () => {
      process.collections += 1;
      process.resident = 150 * mebibyte;
    },
  });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(process.collections).toBe(1);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(process.collections, 'nothing has grown').toBe(1);

  process.resident = 190 * mebibyte;
  process.worked = 0.6;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(process.collections, 'the process is busy').toBe(1);

  process.worked = 0.01;
  await vi.advanceTimersByTimeAsync(600_000);
  expect(process.collections).toBe(2);
});
