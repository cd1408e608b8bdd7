import { createFakeCluster, DriverError, type Instance } from '@davit/drivers';
import { expect, test } from 'vitest';
import { setRestartPolicy } from './restart-policy.ts';

const { signal } = new AbortController();

/** Calls `setRestartPolicy` on a cluster that does this; returns the lines of the log. */
async function linesOf(onCall: (instances: readonly Instance[]) => Promise<void>): Promise<string[]> {
  const { cluster, builder, carrier, gateway, source } = createFakeCluster();
  const lines: string[] = [];
  const drivers = { docker: { cluster: { ...cluster, setRestartPolicy: onCall }, builder, carrier, gateway, source } };
  await setRestartPolicy({ drivers }, 'docker', [], { signal, log: (line) => void lines.push(line) });
  return lines;
}

test('the policy is set without a line in the log', async () => {
  let calls = 0;
  expect(await linesOf(() => Promise.resolve(void (calls += 1)))).toEqual([]);
  expect(calls).toBe(1);
});

test('a refusal fails no release that serves already, and is in the log', async () => {
  const refused = new DriverError({ cause: 'ENGINE_FAILED', message: 'it is marked for removal' });
  expect(await linesOf(() => Promise.reject(refused))).toEqual([expect.stringContaining('it is marked for removal')]);
});

test('an engine that cannot be reached is asked again by the step', async () => {
  const away = new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'away', retryable: true });
  await expect(linesOf(() => Promise.reject(away))).rejects.toBe(away);
});
