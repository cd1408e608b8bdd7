import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import { reportedAt } from '../instances/probe-events.ts';

/** Milliseconds by which the clocks of a cluster may be behind the clock of this machine. */
export const clockMilliseconds = 30_000;

/** An instance whose events are looked for. */
export interface WatchedInstance {
  readonly name: string;
  /** The existing pods of the instance. */
  readonly pods: readonly Pod[];
  /** When the wait for the instance began, in milliseconds since 1970. */
  readonly began: number;
}

/**
 * Returns the events of an instance: all events of its existing pods, and those events of its controllers that occurred
 * after the wait began. Events are kept for an hour, and an instance that is created again has the same name: what was
 * refused in the past may be accepted now. Pure.
 */
export function eventsOfInstance(events: readonly Event[], { name, pods, began }: WatchedInstance): Event[] {
  const present = new Set(pods.map(({ metadata }) => metadata?.uid));
  return events.filter((event) => {
    const { kind, name: about = '', uid } = event.involvedObject;
    if (about !== name && !about.startsWith(`${name}-`)) return false;
    // An event of a pod holds as long as the pod exists, because nodes do not repeat all of their events.
    return kind === 'Pod' && uid !== undefined ? present.has(uid) : reportedAt(event) >= began - clockMilliseconds;
  });
}
