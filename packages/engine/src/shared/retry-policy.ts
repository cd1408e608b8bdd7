import { isAppError } from '@davit/base';
import { DriverError } from '@davit/drivers';
import { ClusterUnreachable } from './cluster-drivers.ts';
import type { EngineSettings } from './parts.ts';

/**
 * Returns whether an error is due to an unreachable database. The user did not cause it, and the work is repeated when
 * the database is reachable again.
 */
export function isDatabaseUnreachable(error: unknown): boolean {
  return isAppError(error) && error.code === 'DATABASE_UNAVAILABLE';
}

/**
 * Returns whether an immediate retry may help. False for an unreachable cluster: callers wait for the cluster, and hold
 * no resources meanwhile.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof ClusterUnreachable) return false;
  if (error instanceof DriverError) return error.retryable;
  return isDatabaseUnreachable(error);
}

const defaultFirstRetryMilliseconds = 500;

/**
 * Returns the policy for retrying a step after a transient failure: six attempts within about twelve seconds, unless
 * the settings are quicker. See `retry`.
 */
export function retryPolicy({ firstRetryMilliseconds = defaultFirstRetryMilliseconds }: EngineSettings) {
  return {
    attempts: 6,
    firstPauseMilliseconds: firstRetryMilliseconds,
    maximumPauseMilliseconds: 8 * firstRetryMilliseconds,
  };
}
