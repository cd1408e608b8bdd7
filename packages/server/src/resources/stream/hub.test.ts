import { expect, test, vi } from 'vitest';
import { StreamHub } from './hub.ts';

test('a database that is unreachable is reported once for each outage, not at each of the 20 reads a second', async () => {
  let isReachable = false;
  let reads = 0;
  const warnings: string[] = [];
  const hub = new StreamHub({
    database: {
      many: () => {
        reads += 1;
        if (!isReachable) return Promise.reject(new Error('connection refused'));
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the only column that is read
        return Promise.resolve([{ snapshot: '1:1:' } as never]);
      },
    },
    log: { warn: (_details, message) => warnings.push(message) },
  });
  const stop = hub.follow(() => undefined);
  const readsMore = async (count: number): Promise<void> => {
    const before = reads;
    await vi.waitFor(() => expect(reads).toBeGreaterThanOrEqual(before + count), { timeout: 5000, interval: 5 });
  };
  await readsMore(5);
  expect(warnings).toEqual(['new events for streams could not be read; trying again']);
  isReachable = true;
  await readsMore(3);
  isReachable = false;
  await readsMore(5);
  expect(warnings).toHaveLength(2);
  stop();
});

test('with very many streams new events are read less often', async () => {
  vi.useFakeTimers();
  try {
    let reads = 0;
    const many = (): Promise<never[]> => {
      reads += 1;
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the only column that is read
      return Promise.resolve([{ snapshot: '1:1:' } as never]);
    };
    const hub = new StreamHub({ database: { many }, log: { warn: () => undefined } });
    const stops = [hub.follow(() => undefined)];
    await vi.advanceTimersByTimeAsync(1000);
    expect(reads).toBe(20);
    while (stops.length < 400) stops.push(hub.follow(() => undefined));
    await vi.advanceTimersByTimeAsync(1000);
    expect(reads - 20).toBeLessThanOrEqual(6);
    for (const stop of stops) stop();
    await vi.advanceTimersByTimeAsync(1000);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
