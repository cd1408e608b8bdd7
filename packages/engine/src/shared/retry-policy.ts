import { isAppError } from '@davit/base';
import { DriverError } from '@davit/drivers';
import { ClusterUnreachable } from './cluster-drivers.ts';

/**
 * Returns whether an error is due to an unreachable database. The user did not cause it, and the work is repeated when
 * the database is reachable again.
 */
export function isDatabaseUnreachable(error: unknown): boolean {
  return isAppError(error) && error.code === 'DATABASE_UNAVAILABLE';
}

/**
 * Returns whether the same work may succeed later although nobody changes anything.
 *
 * @param unreachableCluster whether this includes an unreachable cluster. It does not for callers that retry in place:
 *   they wait for the cluster instead, and hold no resources meanwhile. It does for callers that leave the work for
 *   later.
 */
export function isTransient(error: unknown, { unreachableCluster = false } = {}): boolean {
  if (error instanceof ClusterUnreachable) return unreachableCluster;
  if (error instanceof DriverError) return error.retryable;
  return isDatabaseUnreachable(error);
}

const defaultFirstRetryMilliseconds = 500;

/**
 * Returns the policy for retrying a step after a transient failure: six attempts within about twelve seconds, unless
 * the settings are quicker. See `retry`.
 */
export function retryPolicy({
  firstRetryMilliseconds = defaultFirstRetryMilliseconds,
}: {
  readonly firstRetryMilliseconds?: number;
}) {
  return {
    attempts: 6,
    firstPauseMilliseconds: firstRetryMilliseconds,
    maximumPauseMilliseconds: 8 * firstRetryMilliseconds,
  };
}
