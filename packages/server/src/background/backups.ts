import type { Deps } from '../deps.ts';
import { askForDueBackups, trimOrphanedBackups } from '../resources/database-backup/index.ts';
import { follow, type Followed, type FollowLog, type FollowTiming } from './clock.ts';

/**
 * Requests the scheduled backups of managed databases until it is stopped. Several processes may run it concurrently.
 */
export function followBackups(deps: Deps, log: FollowLog, timing: FollowTiming = {}): Followed {
  const look = async (now: Date): Promise<void> => {
    for (const { databaseId, error } of await askForDueBackups(deps, now)) {
      log.warn({ databaseId, err: error }, 'a scheduled backup could not be requested');
    }
    await trimOrphanedBackups(deps);
  };
  return follow(look, (error) => log.warn({ err: error }, 'the schedules of backups could not be read'), timing);
}
