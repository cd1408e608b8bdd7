import { randomUUID } from 'node:crypto';
import type { InstanceUsage } from '../driver.ts';
import { type ConformanceSubject, never, type Suite, type Test, until } from './setup.ts';

/** Tests the optional capability; a cluster without it, or without a metrics source, passes. */
export function metricTests(test: Test, expect: Suite['expect'], subject: () => ConformanceSubject): void {
  test('tells what each instance uses, and of those of other installations nothing', async (setup) => {
    if (setup.driver.metrics === undefined || (await setup.traits.measures?.(never())) === false) return;
    const workload = setup.workload('SERVES', { instances: 2 });
    const ids = await setup.run(workload);
    let first: readonly InstanceUsage[] = [];
    // Some clusters measure new instances only after a while.
    await until(async () => {
      first = (await setup.driver.metrics?.usage(never())) ?? [];
      return first.length === ids.length;
    }, 120_000);
    expect(new Set(first.map(({ id }) => id))).toEqual(new Set(ids));
    const { environment, service } = workload.owner;
    for (const usage of first) expect(usage).toMatchObject({ environment, service, rollout: workload.rollout });
    expect(new Set(first.map(({ index }) => index))).toEqual(new Set([0, 1]));
    for (const { memoryBytes } of first) expect(memoryBytes).toBeGreaterThan(0);
    const again = await setup.driver.metrics.usage(never());
    for (const { id, cpuMilliseconds, at } of again) {
      const before = first.find((usage) => usage.id === id);
      expect(cpuMilliseconds).toBeGreaterThanOrEqual(before?.cpuMilliseconds ?? Infinity);
      expect(at).toBeGreaterThanOrEqual(before?.at ?? Infinity);
    }
    const stranger = await subject().driver(`conformance-${randomUUID()}`);
    expect(await stranger.metrics?.usage(never())).toEqual([]);
  });
}
