import { createFakeCluster, DriverError } from '@davit/drivers';
import { expect, test } from 'vitest';
import { lateEngine, type Connected } from './drivers.ts';

const gone = new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'nobody answers', retryable: true });

/** Returns how often the engine is restarted if watching its events ends with this failure. */
async function starts(failure: Error | null, { isOwn = true, isAborted = false } = {}): Promise<number> {
  let count = 0;
  const fake = createFakeCluster();
  const cluster = {
    ...fake.cluster,
    watch: () => (failure === null ? Promise.resolve() : Promise.reject(failure)),
  };
  const startAgain = (): Promise<void> => {
    count += 1;
    return Promise.resolve();
  };
  const connected: Connected = {
    cluster,
    startAgain: isOwn ? startAgain : null,
    builder: fake.builder,
    imageStore: fake.imageStore,
  };
  const signal = isAborted ? AbortSignal.abort() : new AbortController().signal;
  const end = lateEngine(() => Promise.resolve(connected))
    .watch(() => undefined, signal)
    .then(
      () => null,
      (error: unknown) => error,
    );
  // The caller of `watch` gets the failure all the same.
  expect(await end).toBe(failure);
  return count;
}

test("an engine of Davit's own that is gone is started again, and only that", async () => {
  expect(await starts(gone)).toBe(1);
  expect(await starts(gone, { isOwn: false })).toBe(0);
  expect(await starts(gone, { isAborted: true })).toBe(0);
  expect(await starts(null)).toBe(0);
  expect(await starts(new DriverError({ cause: 'ENGINE_FAILED', message: 'no events', retryable: false }))).toBe(0);
});
