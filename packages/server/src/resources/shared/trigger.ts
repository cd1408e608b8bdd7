import type { Trigger } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';

/** Returns the actor, name and origin of the caller, for the history and for merging requests. */
export function triggerOf(caller: Caller): Trigger {
  return { actor: caller.actor, triggeredBy: caller.name, origin: caller.origin };
}
