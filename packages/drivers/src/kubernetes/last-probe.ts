import type { Event } from 'kubernetes-types/core/v1.js';
import type { Instance } from '../workload.ts';
import { DriverError } from '../errors.ts';
import { ApiRefusal } from './api.ts';
import { list } from './follow.ts';
import { parseId } from './instances.ts';
import { newestPod } from './pods.ts';
import { pathOf, type Scope } from './objects.ts';

/** Null: the kubelet finds the instance ready; otherwise why not, in its words. Never throws for what cannot be asked. */
export async function lastProbe(scope: Scope, instance: Instance, signal: AbortSignal): Promise<string | null> {
  try {
    const place = parseId(instance.id);
    const pod = await newestPod(scope, place, signal);
    if (pod === null) return 'the instance is gone';
    const condition = pod.status?.conditions?.find(({ type }) => type === 'Ready');
    if (condition?.status === 'True') return null;
    const query = { fieldSelector: `involvedObject.uid=${pod.metadata?.uid},reason=Unhealthy` };
    const events = await list<Event>(scope.api, { path: pathOf('Event', { namespace: place.namespace }), query }, signal);
    return events.items.at(-1)?.message ?? condition?.message ?? 'the instance is not ready';
  } catch (error) {
    if (error instanceof ApiRefusal || error instanceof DriverError) return error.message;
    throw error;
  }
}
