import { messageOf } from '@davit/base';
import type { Instance } from '@davit/drivers';
import { driversOf, type EngineParts } from './parts.ts';
import { isTransient } from './retry-policy.ts';

interface Call {
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/**
 * Lets a cluster start serving instances again by itself. If the cluster refuses, the log says so, and only the keeper
 * does it: the release serves already.
 */
export async function keepUp(
  parts: Pick<EngineParts, 'drivers'>,
  driver: string,
  instances: readonly Instance[],
  { signal, log }: Call,
): Promise<void> {
  try {
    await driversOf(parts, driver).cluster.keepUp(instances, signal);
  } catch (error) {
    if (signal.aborted || isTransient(error, { unreachableCluster: true })) throw error;
    log(`The engine does not restart the instances while Davit is stopped: ${messageOf(error)}`);
  }
}
