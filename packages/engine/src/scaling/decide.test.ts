import { assert, array, constantFrom, integer, option, property, record } from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decide,
  type Decision,
  type DecisionInput,
  type InstanceLoad,
  type ScalingLimits,
  type ScalingMemory,
} from './decide.ts';

const pace = { warmUpSeconds: 30, scaleDownSeconds: 300 };
const limits: ScalingLimits = { min: 1, max: 10, cpuPercent: 60, memoryPercent: null, cpuMillicores: 500, memoryMiB: 512 };
const grown = (cpuMillicores: number, memoryMiB = 100): InstanceLoad => ({ ageSeconds: 1_000, cpuMillicores, memoryMiB });
const ask = (more: Partial<DecisionInput>): Decision =>
  decide({ now: 0, current: 1, loads: [grown(300)], limits, capacity: 100, pace, memory: undefined, ...more });

/**
 * Simulates a service under load that is looked at every 15 seconds. `demand` returns the needed millicores at a
 * second. Returns the numbers of instances.
 */
function simulate(seconds: number, demand: (second: number) => number, more: Partial<DecisionInput> = {}): number[] {
  const cap = more.limits?.cpuMillicores ?? limits.cpuMillicores;
  let memory: ScalingMemory | undefined;
  let born = [-1_000];
  const counts: number[] = [];
  for (let second = 0; second < seconds; second += 15) {
    const each = Math.min(cap, demand(second) / born.length);
    const loads = born.map((at) => ({ ageSeconds: second - at, cpuMillicores: each, memoryMiB: 100 }));
    const decision = ask({ ...more, now: second * 1000, current: born.length, loads, memory });
    ({ memory } = decision);
    // New instances need some seconds until they run.
    born = Array.from({ length: decision.count }, (_, index) => born[index] ?? second + 5);
    counts.push(decision.count);
  }
  return counts;
}

describe('a decision', () => {
  test.each([
    ['on its target stays', 1, [grown(300)], 1],
    ['a little above its target stays', 1, [grown(325)], 1],
    ['above its target gets what brings it there', 1, [grown(500)], 2],
    ['counts the average of all', 2, [grown(500), grown(300)], 3],
  ])('%s', (_name, current, loads, count) => {
    expect(ask({ current, loads }).count).toBe(count);
  });

  test('says why, and what kept it from more', () => {
    expect(ask({ loads: [grown(500)] }).reason).toBe('cpu is at 100 % of 500 millicores on average, the target is 60 %');
    const two = { current: 4, loads: [grown(500), grown(500), grown(500), grown(500)] };
    expect(ask({ ...two, limits: { ...limits, max: 5 } })).toMatchObject({
      count: 5,
      reason: expect.stringContaining('7 would be needed, max_running_instances is 5'),
    });
    expect(ask({ ...two, limits: { ...limits, max: null }, capacity: 6 })).toMatchObject({
      count: 6,
      reason: expect.stringContaining('7 would be needed, the cluster has room for 6'),
    });
  });

  test('takes memory into account only where it has a target, and then what needs more', () => {
    expect(ask({ loads: [grown(300, 512)] }).count).toBe(1);
    expect(ask({ loads: [grown(300, 512)], limits: { ...limits, memoryPercent: 50 } })).toMatchObject({
      count: 2,
      reason: expect.stringContaining('memory is at 100 % of 512 MB'),
    });
  });

  test('does not take a starting instance’s use for load', () => {
    expect(ask({ loads: [{ ageSeconds: 5, cpuMillicores: 500, memoryMiB: 1 }] }).count).toBe(1);
    expect(ask({ loads: [{ ageSeconds: 0, cpuMillicores: null, memoryMiB: 1 }] }).count).toBe(1);
    // Two instances that started recently count as relief for the measured one.
    expect(ask({ current: 3, loads: [grown(500), { ageSeconds: 5, cpuMillicores: 500, memoryMiB: 1 }] }).count).toBe(3);
  });

  test('goes from one to more than double at most', () => {
    const loads = [grown(500)];
    expect(ask({ loads, limits: { ...limits, max: 100, cpuPercent: 1 } }).count).toBe(5);
  });
});

describe('over time', () => {
  test('a burst is answered within a minute, and its end only after five', () => {
    const counts = simulate(1_200, (second) => (second >= 60 && second < 180 ? 2_000 : 100));
    expect(counts[60 / 15 - 1]).toBe(1);
    expect(counts.slice(0, 10).at(-1)).toBeGreaterThanOrEqual(4);
    // No instance is removed before the burst has been over for five minutes. In the end all additional instances are
    // removed.
    expect(Math.min(...counts.slice(12, 12 + 300 / 15))).toBeGreaterThanOrEqual(4);
    expect(counts.at(-1)).toBe(1);
  });

  test('load that comes and goes does not make instances come and go', () => {
    const counts = simulate(3_600, (second) => (Math.floor(second / 60) % 2 === 0 ? 1_200 : 200));
    const settled = counts.slice(300 / 15);
    expect(new Set(settled).size).toBe(1);
  });

  test('with load that stays the number changes no more after ten minutes, and holds it', () => {
    assert(
      property(integer({ min: 1, max: 4_000 }), integer({ min: 20, max: 95 }), (demand, cpuPercent) => {
        const own = { ...limits, max: 40, cpuPercent };
        const counts = simulate(3_600, () => demand, { limits: own });
        const settled = counts.slice(1_800 / 15);
        const [count = 0] = settled;
        const use = demand / count / own.cpuMillicores;
        return new Set(settled).size === 1 && use <= (cpuPercent / 100) * 1.1 + 0.001;
      }),
    );
  });

  test('with less and less load it never goes up, with more and more never down', () => {
    assert(
      property(integer({ min: 100, max: 3_000 }), integer({ min: 1, max: 3 }), (most, step) => {
        const falling = simulate(3_600, (second) => Math.max(0, most - step * second)).slice(600 / 15);
        const rising = simulate(3_600, (second) => Math.min(most, step * second));
        const isMonotone = (counts: readonly number[], sign: 1 | -1): boolean =>
          counts.every((count, index) => index === 0 || sign * (count - (counts[index - 1] ?? 0)) >= 0);
        return isMonotone(falling, -1) && isMonotone(rising, 1);
      }),
    );
  });
});

describe('whatever comes', () => {
  const load = record({
    ageSeconds: integer({ min: 0, max: 1_000 }),
    cpuMillicores: option(integer({ min: 0, max: 2_000 })),
    memoryMiB: integer({ min: 0, max: 4_096 }),
  });

  test('the number stays within its limits, changes by bounded steps, has a reason when it changes, and equal input decides equally', () => {
    assert(
      property(
        array(load, { maxLength: 12 }),
        record({
          least: integer({ min: 1, max: 5 }),
          more: option(integer({ min: 0, max: 10 })),
          capacity: integer({ min: 1, max: 20 }),
          memoryPercent: constantFrom(null, 1, 80, 100),
          current: integer({ min: 1, max: 20 }),
        }),
        (loads, { least, more, capacity, memoryPercent, current }) => {
          const most = more === null ? null : least + more;
          const input = { current, loads, capacity, limits: { ...limits, min: least, max: most, memoryPercent } };
          // For five minutes one instance was enough.
          const memory = { since: -400_000, wanted: [{ at: -1, count: 1 }], wentDownAt: null };
          const { count, reason } = ask({ ...input, memory });
          const again = ask({ ...input, memory });
          if (count > current && count > Math.max(least, Math.min(most ?? Infinity, capacity))) return false;
          if (count < current && count < least) return false;
          if (current - count > Math.max(1, Math.floor(current / 4)) || count - current > Math.max(current, 4)) return false;
          return (reason === '') === (count === current) && again.count === count && Number.isInteger(count);
        },
      ),
    );
  });

  test('who has just begun to look, or could not for long, takes nothing away', () => {
    const idle = { current: 5, loads: Array.from({ length: 5 }, () => grown(1)) };
    expect(ask(idle).count).toBe(5);
    const memory = { since: -900_000, wanted: [{ at: -301_000, count: 1 }], wentDownAt: null };
    expect(ask({ ...idle, memory }).count).toBe(5);
    expect(ask({ ...idle, memory: { ...memory, wanted: [{ at: -299_000, count: 1 }] } }).count).toBe(4);
  });
});
