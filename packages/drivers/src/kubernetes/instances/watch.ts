import type { Pod } from 'kubernetes-types/core/v1.js';
import type { InstanceEvent } from '../../driver.ts';
import { follow, type Change } from '../client/follow.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { label, labelSelector, withRunLabels } from '../names/labels.ts';
import { idOf, mainStatus } from './instances.ts';

/** The state of a pod's process when its last event was reported. */
interface ReportedState {
  readonly startedAt: string | null;
  readonly isRunning: boolean;
}

/** See `ClusterDriver.watch`. Watches the pods of all namespaces, selected by their labels. */
export async function watchInstances(scope: Scope, onEvent: (event: InstanceEvent) => void, signal: AbortSignal): Promise<void> {
  const query = { labelSelector: labelSelector(scope.installation, 'instance', {}) };
  const reported = new Map<string, ReportedState>();
  const onChange = (pods: ReadonlyMap<string, Pod>): void => {
    for (const uid of reported.keys()) if (!pods.has(uid)) reported.delete(uid);
    for (const [uid, pod] of pods) if (!reported.has(uid)) reported.set(uid, reportedOf(pod));
  };
  const report = ({ type: kind, object }: Change<Pod>): void => {
    const change = { type: kind, object: withRunLabels(object) };
    const uid = change.object.metadata?.uid ?? '';
    for (const type of eventsOf(change, reported.get(uid))) {
      onEvent({ type, service: change.object.metadata?.labels?.[label.service] ?? '', instance: idOf(change.object) ?? '' });
    }
    if (change.type === 'DELETED') reported.delete(uid);
    else reported.set(uid, reportedOf(change.object));
  };
  try {
    await follow<Pod>(scope.api, { path: pathOf('Pod'), query }, { onEvent: report, onChange }, signal);
  } catch (error) {
    if (signal.aborted) return;
    throw translated(error, 'The events of the cluster could not be read');
  }
}

function reportedOf(pod: Pod): ReportedState {
  const running = mainStatus(pod)?.state?.running;
  return { startedAt: running?.startedAt ?? null, isRunning: running !== undefined };
}

/** Returns the events of an instance that follow from a change of its pod. Pure. */
export function eventsOf({ type, object }: Change<Pod>, before: ReportedState | undefined): InstanceEvent['type'][] {
  const wasRunning = before?.isRunning === true;
  if (type === 'DELETED') return wasRunning ? ['DIED', 'REMOVED'] : ['REMOVED'];
  const now = reportedOf(object);
  const hasDied = wasRunning && now.startedAt !== before?.startedAt;
  const hasStarted = now.isRunning && now.startedAt !== before?.startedAt;
  return [...(hasDied ? (['DIED'] as const) : []), ...(hasStarted ? (['STARTED'] as const) : [])];
}
