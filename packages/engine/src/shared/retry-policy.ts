import { isAppError } from '@davit/base';
import { DriverError } from '@davit/drivers';
import { ClusterAway } from './cluster-drivers.ts';
import type { EngineSettings } from './parts.ts';

/** Whether something failed as the database is away: nothing that the user did, and done again when it is back. */
export function isDatabaseAway(error: unknown): boolean {
  return isAppError(error) && error.code === 'DATABASE_UNAVAILABLE';
}

/** Whether to try again at once may help. Not for a cluster that is away: whoever needs that waits for it, and keeps nothing meanwhile. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ClusterAway) return false;
  if (error instanceof DriverError) return error.retryable;
  return isDatabaseAway(error);
}

const defaultFirstRetryMilliseconds = 500;

/** How a step retries a transient failure: six attempts within some twelve seconds, unless the settings are quicker. See `retry`. */
export function retryPolicy({ firstRetryMilliseconds = defaultFirstRetryMilliseconds }: EngineSettings) {
  return {
    attempts: 6,
    firstPauseMilliseconds: firstRetryMilliseconds,
    maximumPauseMilliseconds: 8 * firstRetryMilliseconds,
  };
}
