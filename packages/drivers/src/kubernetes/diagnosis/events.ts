import type { Event, Pod } from 'kubernetes-types/core/v1.js';

/** By so much clocks of a cluster may be behind that of this machine. */
export const clockMilliseconds = 30_000;

/** An instance, for what is said of it. */
export interface Told {
  readonly name: string;
  /** Its pods that are there. */
  readonly pods: readonly Pod[];
  /** When the waiting for it began, in milliseconds since 1970. */
  readonly began: number;
}

/**
 * What is said of an instance: of its pods that are there, and of what makes them since the waiting began. Events stay for an hour, and an instance
 * that is made again has the same name: what was refused then may be taken now. Pure.
 */
export function eventsOfInstance(events: readonly Event[], { name, pods, began }: Told): Event[] {
  const present = new Set(pods.map(({ metadata }) => metadata?.uid));
  return events.filter((event) => {
    const { kind, name: about = '', uid } = event.involvedObject;
    if (about !== name && !about.startsWith(`${name}-`)) return false;
    // Of one pod it holds for as long as that is there, as nodes do not say all of it again.
    return kind === 'Pod' && uid !== undefined ? present.has(uid) : lastSaidAt(event) >= began - clockMilliseconds;
  });
}

/** In milliseconds since 1970; Infinity: it does not say. */
function lastSaidAt({ series, lastTimestamp, eventTime, metadata }: Event): number {
  const times = [series?.lastObservedTime, lastTimestamp, eventTime, metadata.creationTimestamp];
  const known = times.map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time));
  return known.length === 0 ? Infinity : Math.max(...known);
}
