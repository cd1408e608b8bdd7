import { messageOf } from '@davit/base';
import type { Instance } from '@davit/drivers';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { isTransient } from '../shared/retry-policy.ts';

interface Call {
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/**
 * Sets the restart policy of instances that serve, so that their cluster starts them again by itself. If it refuses,
 * the log says so, and only the keeper starts them again: the release serves already.
 */
export async function setRestartPolicy(
  parts: Pick<EngineParts, 'drivers'>,
  driver: string,
  instances: readonly Instance[],
  { signal, log }: Call,
): Promise<void> {
  try {
    await driversOf(parts, driver).cluster.setRestartPolicy(instances, signal);
  } catch (error) {
    if (signal.aborted || isTransient(error, { unreachableCluster: true })) throw error;
    log(`The engine does not restart the instances while Davit is stopped: ${messageOf(error)}`);
  }
}
