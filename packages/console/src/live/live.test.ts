import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

vi.stubGlobal('window', new EventTarget());
const { Collected } = await import('./live.ts');

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a page that is read slowly catches up while events keep coming', async () => {
  const queries = new QueryClient();
  let version = 0;
  const read = vi.fn<() => Promise<number>>(async () => {
    const found = version;
    await new Promise((resolve) => setTimeout(resolve, 400));
    return found;
  });
  const observer = new QueryObserver(queries, { queryKey: ['details', 'e'], queryFn: read });
  const leave = observer.subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(500);
  const collected = new Collected(queries);
  for (version = 1; version <= 100; version += 1) {
    collected.add('e', 'STEP');
    await vi.advanceTimersByTimeAsync(50);
  }
  // The events are not over, and what is shown is not older than two readings.
  expect(observer.getCurrentResult().data).toBeGreaterThan(80);
  await vi.advanceTimersByTimeAsync(2000);
  expect(observer.getCurrentResult().data).toBeGreaterThanOrEqual(100);
  const count = read.mock.calls.length;
  await vi.advanceTimersByTimeAsync(2000);
  expect(read).toHaveBeenCalledTimes(count);
  collected.add('e', 'STEP');
  collected.end();
  await vi.advanceTimersByTimeAsync(2000);
  expect(read).toHaveBeenCalledTimes(count);
  leave();
});
