import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import { pause } from '@davit/base';
import type { InstanceEvent } from '../../driver.ts';
import { ApiRefusal } from '../client/api.ts';
import { follow, list, type Change } from '../client/follow.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { failedLiveness, probeAttempts } from '../events/probe-events.ts';
import { label, labelSelector, withRunLabels } from '../names/labels.ts';
import { conditionOf, idOf, lastEnd, mainStatus } from './instances.ts';

/** Pause before the events are watched again that could not be watched. */
const killsAgainMilliseconds = 1_000;

/** The state of a pod's process when its last event was reported. */
export interface ReportedState {
  readonly startedAt: string | null;
  readonly isRunning: boolean;
  /** When the process last ended; null: never. */
  readonly endedAt: string | null;
  /**
   * Everything else that matters: whether the pod is ready, why its process waits, whether the pod is being deleted.
   */
  readonly rest: string;
}

/** See `ClusterDriver.watch`. Watches the pods of all namespaces, selected by their labels. */
export async function watchInstances(scope: Scope, onEvent: (event: InstanceEvent) => void, signal: AbortSignal): Promise<void> {
  const query = { labelSelector: labelSelector(scope.installation, 'instance', {}) };
  const reported = new Map<string, ReportedState>();
  const pods = new Map<string, Pod>();
  const onChange = (items: ReadonlyMap<string, Pod>): void => {
    for (const uid of reported.keys()) if (!items.has(uid)) reported.delete(uid);
    for (const uid of pods.keys()) if (!items.has(uid)) pods.delete(uid);
    for (const [uid, pod] of items) {
      pods.set(uid, pod);
      if (!reported.has(uid)) reported.set(uid, reportedOf(pod));
    }
  };
  const report = ({ type: kind, object }: Change<Pod>): void => {
    const change = { type: kind, object: withRunLabels(object) };
    const uid = change.object.metadata?.uid ?? '';
    for (const type of eventsOf(change, reported.get(uid))) onEvent({ type, ...aboutOf(change.object) });
    if (change.type === 'DELETED') reported.delete(uid);
    else reported.set(uid, reportedOf(change.object));
  };
  const ended = new AbortController();
  const within = AbortSignal.any([signal, ended.signal]);
  const kills = watchKills(scope, (uid) => pods.get(uid), onEvent, within);
  try {
    await follow<Pod>(scope.api, { path: pathOf('Pod'), query }, { onEvent: report, onChange }, signal);
  } catch (error) {
    if (signal.aborted) return;
    throw translated(error, 'The events of the cluster could not be read');
  } finally {
    ended.abort();
    await kills;
  }
}

/**
 * Reports the liveness probes on whose failure the kubelet restarts a container. Only an event shows this: a pod shows
 * the exit, as late as the process may take to stop. Never rejects: without these events, or the permission to read
 * them, the exit is still reported.
 */
async function watchKills(
  scope: Scope,
  podOf: (uid: string) => Pod | undefined,
  onEvent: (event: InstanceEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const report = async (pod: Pod): Promise<void> => {
    const attempts = await attemptsOf(scope, pod, signal);
    if (!signal.aborted) onEvent({ type: 'NOT_LIVE', ...aboutOf(withRunLabels(pod)), attempts });
  };
  const onEventOfPod = ({ type, object }: Change<Event>): void => {
    const pod = podOf(object.involvedObject.uid ?? '');
    if (type !== 'DELETED' && pod !== undefined && isLivenessKill(object)) void report(pod);
  };
  const listed = { path: pathOf('Event'), query: { fieldSelector: 'involvedObject.kind=Pod,reason=Killing' } };
  while (!signal.aborted) {
    try {
      await follow<Event>(scope.api, listed, { onEvent: onEventOfPod }, signal);
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 403) return;
      // The watch of the instances may go on where that of their events failed, so this one is tried again by itself.
      await pause(killsAgainMilliseconds, signal);
    }
  }
}

/** Returns whether the kubelet restarts a container because of its liveness probe. Pure. */
export function isLivenessKill({ reason, message = '' }: Event): boolean {
  return reason === 'Killing' && /failed liveness probe/i.test(message);
}

/** Returns the last failed attempts of a pod's liveness probe; none if they cannot be read. */
async function attemptsOf({ api }: Scope, { metadata }: Pod, signal: AbortSignal): Promise<readonly string[]> {
  const query = { fieldSelector: `involvedObject.uid=${metadata?.uid},reason=Unhealthy` };
  try {
    const { items } = await list<Event>(api, { path: pathOf('Event', { namespace: metadata?.namespace }), query }, signal);
    return probeAttempts(items, failedLiveness);
  } catch {
    // The restart is reported without them.
    return [];
  }
}

function aboutOf({ metadata }: Pod): Pick<InstanceEvent, 'service' | 'instance'> {
  const instance = metadata === undefined ? null : idOf({ metadata });
  return { service: metadata?.labels?.[label.service] ?? '', instance: instance ?? '' };
}

/** Returns the state of a pod's process, for `eventsOf`. Pure. */
export function reportedOf(pod: Pod): ReportedState {
  const status = mainStatus(pod);
  const running = status?.state?.running;
  const ready = conditionOf(pod, 'Ready')?.status;
  const scheduled = conditionOf(pod, 'PodScheduled')?.status;
  const rest = [ready, scheduled, status?.state?.waiting?.reason, pod.status?.phase, pod.metadata?.deletionTimestamp];
  return {
    startedAt: running?.startedAt ?? null,
    isRunning: running !== undefined,
    endedAt: lastEnd(status)?.finishedAt ?? null,
    rest: rest.join(' '),
  };
}

/** Returns the events of an instance that follow from a change of its pod. Pure. */
export function eventsOf({ type, object }: Change<Pod>, before: ReportedState | undefined): InstanceEvent['type'][] {
  const wasRunning = before?.isRunning === true;
  if (type === 'DELETED') return wasRunning ? ['DIED', 'REMOVED'] : ['REMOVED'];
  const now = reportedOf(object);
  // A process that ends within a second may never be shown as running.
  const isNewEnd = now.endedAt !== null && now.endedAt !== before?.endedAt;
  const hasDied = (wasRunning && now.startedAt !== before?.startedAt) || (before !== undefined && isNewEnd);
  const hasStarted = now.isRunning && now.startedAt !== before?.startedAt;
  const events: InstanceEvent['type'][] = [
    ...(hasDied ? (['DIED'] as const) : []),
    ...(hasStarted ? (['STARTED'] as const) : []),
  ];
  return events.length === 0 && now.rest !== before?.rest ? ['CHANGED'] : events;
}
