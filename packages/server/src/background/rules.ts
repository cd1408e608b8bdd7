import type { Deps } from '../deps.ts';
import { runDueRules } from '../resources/deployment-rule/index.ts';
import { follow, type Followed, type FollowLog, type FollowTiming } from './clock.ts';

/** Applies the deployment rules of environments until it is stopped. Several processes may run it concurrently. */
export function followRules(deps: Deps, log: FollowLog, timing: FollowTiming = {}): Followed {
  const look = async (now: Date): Promise<void> => {
    for (const { environmentId, error } of await runDueRules(deps, now)) {
      log.warn({ environmentId, err: error }, 'a deployment rule could not be applied');
    }
  };
  // The database is unreachable. The next check follows soon, and due rules stay due.
  return follow(look, (error) => log.warn({ err: error }, 'deployment rules could not be read'), timing);
}
