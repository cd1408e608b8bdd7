import { createFakeCluster, DriverError, type ClusterDriver, type Probe, type Workload } from '@davit/drivers';
import { afterEach, expect, test, vi } from 'vitest';
import type { EngineParts } from '../shared/parts.ts';
import { Prober } from './prober.ts';
import { instance } from '../testing/config.ts';

const probe: Probe = {
  check: { type: 'tcp', port: 80, host: null },
  initialDelaySeconds: 0,
  periodSeconds: 0.001,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 2,
};
const workload = { readiness: probe, liveness: probe } as unknown as Workload; // oxlint-disable-line typescript/no-unsafe-type-assertion -- all that is looked at

let prober: Prober | undefined;
afterEach(() => prober?.stop());

/** Records the verdicts of the prober for an instance whose probes return these answers, by their number. */
function probed(answer: (count: number, signal: AbortSignal) => Promise<string | null>) {
  let count = 0;
  const verdicts: string[] = [];
  const warnings: string[] = [];
  const cluster: ClusterDriver = {
    ...createFakeCluster().cluster,
    probe: (_workload, _instance, which, signal) => (which === 'liveness' ? Promise.resolve(null) : answer((count += 1), signal)),
  };
  const log = { info: () => undefined, warn: (_: object, text: string) => void warnings.push(text), error: () => undefined };
  const parts = { drivers: { here: { cluster } }, log } as unknown as EngineParts; // oxlint-disable-line typescript/no-unsafe-type-assertion -- all that is looked at
  prober = new Prober(
    parts,
    'here',
    { workload, instance: instance() },
    {
      onDead: () => verdicts.push('dead'),
      onReadiness: (_instance, isReady) => verdicts.push(isReady ? 'ready' : 'unready'),
    },
  );
  return { verdicts, warnings, count: () => count };
}

const unreachable = (): DriverError =>
  new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'connection refused', retryable: true });

test('a probe that cannot be asked for says nothing of the instance, and probing goes on', async () => {
  const { verdicts, warnings, count } = probed((number) =>
    number < 20 ? Promise.reject(unreachable()) : Promise.resolve(number < 30 ? 'refused' : null),
  );
  await vi.waitFor(() => expect(count()).toBeGreaterThanOrEqual(20));
  await vi.waitFor(() => expect(verdicts).toEqual(['unready', 'ready']));
  expect(warnings).toHaveLength(1);
});

test('failures on both sides of an outage add up to as many as it may have', async () => {
  const { verdicts, count } = probed((number) => (number === 2 ? Promise.reject(unreachable()) : Promise.resolve('refused')));
  await vi.waitFor(() => expect(verdicts).toEqual(['unready']));
  expect(count()).toBeGreaterThanOrEqual(3);
});

test('a probe under way ends with the prober, which stops without an error', async () => {
  const { count, warnings } = probed(
    (_number, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })),
  );
  await vi.waitFor(() => expect(count()).toBe(1));
  await expect(prober?.stop()).resolves.toBeUndefined();
  expect(warnings).toEqual([]);
});
