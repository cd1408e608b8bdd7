import type { Event } from 'kubernetes-types/core/v1.js';

/** Number of attempts that the evidence of a failed probe has. */
const keptAttempts = 10;

export const failedLiveness = /^Liveness probe/;
export const failedReadiness = /^(?:Readiness|Startup) probe/;

/**
 * Returns the failed attempts of a probe that the kubelet reported, oldest first, with their times. The kubelet repeats
 * an event with a higher count, so equal attempts appear once. `since`: earlier ones are left out; milliseconds since
 * 1970. Pure.
 */
export function probeAttempts(events: readonly Event[], which: RegExp, since = 0): string[] {
  return events
    .filter((event) => event.reason === 'Unhealthy' && which.test(event.message ?? '') && reportedAt(event) >= since)
    .toSorted((a, b) => reportedAt(a) - reportedAt(b))
    .slice(-keptAttempts)
    .map((event) => {
      const at = reportedAt(event);
      const message = (event.message ?? '').trim();
      return Number.isFinite(at) ? `${new Date(at).toISOString()}: ${message}` : message;
    });
}

/** Returns the latest time of an event in milliseconds since 1970, or Infinity if the event has no time. Pure. */
export function reportedAt({ series, lastTimestamp, eventTime, metadata }: Event): number {
  const times = [series?.lastObservedTime, lastTimestamp, eventTime, metadata.creationTimestamp];
  const known = times.map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time));
  return known.length === 0 ? Infinity : Math.max(...known);
}
