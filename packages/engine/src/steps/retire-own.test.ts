import { createFakeCluster, type CallContext, type ClusterDriver } from '@davit/drivers';
import { afterEach, expect, test, vi } from 'vitest';
import type { ReleaseConfig } from '../model.ts';
import { config } from '../testing/config.ts';
import { retireOwn } from './retire-own.ts';
import type { StepContext } from './step.ts';

afterEach(() => vi.restoreAllMocks());

const call: CallContext = {
  signal: AbortSignal.timeout(20_000),
  force: AbortSignal.abort(),
  log: () => undefined,
};

/** Undoes a rollout of a service, on a cluster that removes instances with this `retire`. */
function undone(config: ReleaseConfig, former: ReleaseConfig | null, retire: ClusterDriver['retire']): Promise<void> {
  const cluster: ClusterDriver = { ...createFakeCluster().cluster, retire };
  const task = { serviceId: 's', serviceType: 'APPLICATION', driver: 'here', rollout: 'new', kept: false, config };
  const context = {
    parts: { drivers: { here: { cluster } }, gateways: {} },
    // The former release serves on another cluster, so it is not started.
    task: { ...task, former: former && { config: former, desired: 'RUNNING', rollout: 'old', driver: 'there' } },
    call,
  };
  return retireOwn(context as unknown as StepContext); // oxlint-disable-line typescript/no-unsafe-type-assertion -- all that is looked at
}

test('instances that do not go hold up what takes them back for two minutes at most', async () => {
  const passed = AbortSignal.timeout(10);
  const limit = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(passed);
  const never: ClusterDriver['retire'] = (_selector, _grace, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    });
  await expect(undone(config(), null, never)).rejects.toThrow('the new instances did not stop within 122 s');
  expect(limit).toHaveBeenCalledExactlyOnceWith(122_000);
  expect(call.signal.aborted).toBe(false);
});

test.each([
  ['ends the wait for them', config(), config(), true],
  ['does not where the former release has a volume', config(), config({ volumes: [volume()] }), false],
  ['does not where the new one has', config({ volumes: [volume()] }), config(), false],
  ['does not where no two may run at once', config(), config({ options: { recreate: true } }), false],
] as const)('a cancel with force %s', async (_, now, former, ends) => {
  let received: AbortSignal | undefined;
  await undone(now, former, (_selector, _grace, { force }) => {
    received = force;
    return Promise.resolve();
  });
  expect(received?.aborted === true).toBe(ends);
});

function volume(): ReleaseConfig['volumes'][number] {
  return { id: 'data', mountPath: '/data', sizeGiB: 1 };
}
