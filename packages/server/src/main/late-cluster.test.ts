import { DriverError } from '@davit/drivers';
import { expect, test } from 'vitest';
import { rememberSuccess } from './late-cluster.ts';

const { signal } = new AbortController();

test('what does not answer at all in time is unreachable, and looked for again by the next call', async () => {
  let calls = 0;
  const open = rememberSuccess(async (within) => {
    calls += 1;
    if (calls > 1) return 'found';
    return new Promise<string>((_, reject) => within.addEventListener('abort', () => reject(within.reason)));
  }, 20);
  await expect(open(signal)).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE', retryable: true });
  expect(await open(signal)).toBe('found');
  expect(await open(signal)).toBe('found');
  expect(calls).toBe(2);
});

test('what fails for a reason says that reason', async () => {
  const open = rememberSuccess(() => Promise.reject(new DriverError({ cause: 'CLUSTER_ACCESS_DENIED', message: 'no' })), 20);
  await expect(open(signal)).rejects.toMatchObject({ code: 'CLUSTER_ACCESS_DENIED' });
});
