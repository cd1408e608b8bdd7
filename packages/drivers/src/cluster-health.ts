import type { DriverError } from './errors.ts';

/**
 * The capability of a cluster that restarts its instances and runs their probes itself, also while Davit is down. Davit
 * then does neither. It reads the result from `Instance.unready` and `Instance.lastEnd`.
 */
export interface ClusterHealth {
  /**
   * Returns why instances do not run, or get no requests although they run, by instance id. Instances for which the
   * cluster gives no reason are left out: an instance that has exited, or is just starting, has no such reason.
   */
  faults(instanceIds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, DriverError>>;
}
