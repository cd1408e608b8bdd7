import type { Trigger } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';

/** Who asks, for the history and for merging requests. */
export function triggerOf(caller: Caller): Trigger {
  return { actor: caller.actor, triggeredBy: caller.name, origin: caller.origin };
}
