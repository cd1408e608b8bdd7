import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import { expect, test } from 'vitest';
import { eventsOfInstance } from './events.ts';

const began = Date.parse('2026-01-01T01:00:00Z');
const pod: Pod = { metadata: { name: 'web-1-0-x', uid: 'present' } };

function reported(involvedObject: Event['involvedObject'], times: Partial<Event> = {}): Event {
  return { metadata: {}, involvedObject, reason: 'FailedCreate', ...times };
}

const counts = (...events: Event[]): Event[] => eventsOfInstance(events, { name: 'web-1-0', pods: [pod], began });
const set = { kind: 'ReplicaSet', name: 'web-1-0-5d4' };

test('events are of an instance by the names of its pods and of what makes them', () => {
  const own = [reported({ kind: 'Job', name: 'web-1-0' }), reported(set)];
  const others = [reported({ kind: 'Job', name: 'web-1-01' }), reported({ kind: 'Job', name: 'web-1' }), reported({})];
  expect(counts(...own, ...others)).toEqual(own);
});

test('what was said before the waiting began is no refusal of what is asked for now', () => {
  const old = '2026-01-01T00:40:00Z';
  const now = '2026-01-01T01:00:01Z';
  for (const times of [
    { lastTimestamp: old },
    { eventTime: old },
    { metadata: { creationTimestamp: old } },
    { eventTime: old, series: { count: 2, lastObservedTime: old } },
  ] satisfies Partial<Event>[])
    expect(counts(reported(set, times))).toEqual([]);
  for (const times of [
    { firstTimestamp: old, lastTimestamp: now },
    { eventTime: old, series: { count: 2, lastObservedTime: now } },
    // The clocks of machines differ.
    { lastTimestamp: '2026-01-01T00:59:45Z' },
  ] satisfies Partial<Event>[])
    expect(counts(reported(set, times))).toHaveLength(1);
});

test('of pods only those count that are there, whenever it was said', () => {
  const old = { lastTimestamp: '2026-01-01T00:10:00Z', reason: 'Pulled' };
  const ours = reported({ kind: 'Pod', name: 'web-1-0-x', uid: 'present' }, old);
  const former = reported({ kind: 'Pod', name: 'web-1-0-x', uid: 'former' }, { ...old, lastTimestamp: '2026-01-01T01:00:01Z' });
  expect(counts(ours, former)).toEqual([ours]);
});
