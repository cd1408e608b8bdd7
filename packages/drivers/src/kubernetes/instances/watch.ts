import type { Pod } from 'kubernetes-types/core/v1.js';
import type { InstanceEvent } from '../../driver.ts';
import { follow, type Change } from '../client/follow.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { label, labelSelector, withRunLabels } from '../names/labels.ts';
import { idOf, mainStatus } from './instances.ts';

/** The state of a pod's process when its last event was reported. */
interface Told {
  readonly startedAt: string | null;
  readonly isRunning: boolean;
}

/** See `ClusterDriver.watch`. Watches the pods of all namespaces, selected by their labels. */
export async function watchInstances(scope: Scope, onEvent: (event: InstanceEvent) => void, signal: AbortSignal): Promise<void> {
  const query = { labelSelector: labelSelector(scope.installation, 'instance', {}) };
  const told = new Map<string, Told>();
  const onChange = (pods: ReadonlyMap<string, Pod>): void => {
    for (const uid of told.keys()) if (!pods.has(uid)) told.delete(uid);
    for (const [uid, pod] of pods) if (!told.has(uid)) told.set(uid, toldOf(pod));
  };
  const tell = ({ type: kind, object }: Change<Pod>): void => {
    const change = { type: kind, object: withRunLabels(object) };
    const uid = change.object.metadata?.uid ?? '';
    for (const type of eventsOf(change, told.get(uid))) {
      onEvent({ type, service: change.object.metadata?.labels?.[label.service] ?? '', instance: idOf(change.object) ?? '' });
    }
    if (change.type === 'DELETED') told.delete(uid);
    else told.set(uid, toldOf(change.object));
  };
  try {
    await follow<Pod>(scope.api, { path: pathOf('Pod'), query }, { onEvent: tell, onChange }, signal);
  } catch (error) {
    if (signal.aborted) return;
    throw translated(error, 'The events of the cluster could not be read');
  }
}

function toldOf(pod: Pod): Told {
  const running = mainStatus(pod)?.state?.running;
  return { startedAt: running?.startedAt ?? null, isRunning: running !== undefined };
}

/** Returns the events of an instance that follow from a change of its pod. Pure. */
export function eventsOf({ type, object }: Change<Pod>, before: Told | undefined): InstanceEvent['type'][] {
  const wasRunning = before?.isRunning === true;
  if (type === 'DELETED') return wasRunning ? ['DIED', 'REMOVED'] : ['REMOVED'];
  const now = toldOf(object);
  const hasDied = wasRunning && now.startedAt !== before?.startedAt;
  const hasStarted = now.isRunning && now.startedAt !== before?.startedAt;
  return [...(hasDied ? (['DIED'] as const) : []), ...(hasStarted ? (['STARTED'] as const) : [])];
}
