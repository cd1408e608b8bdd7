import { isAppError } from '@davit/base';
import { DriverError } from '@davit/drivers';
import { ClusterAway } from './clusters/drivers.ts';

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

/** How often, and how soon, what may pass is tried again by whoever has little time: some twelve seconds in all. See `retry`. */
export const patience = { attempts: 6, firstPauseMilliseconds: 500, maximumPauseMilliseconds: 4_000 } as const;
