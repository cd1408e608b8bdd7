import type { Event } from 'kubernetes-types/core/v1.js';
import type { Instance } from '../../workload.ts';
import { ApiRefusal } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { newestPod } from '../client/pods.ts';
import { translated } from '../client/refusals.ts';
import { parseId } from '../instances/instances.ts';

/**
 * Returns null if the kubelet considers the instance ready, otherwise the kubelet's message why not. Throws if the
 * cluster is unreachable or refuses the request, because then nothing is known.
 */
export async function lastProbe(scope: Scope, instance: Pick<Instance, 'id'>, signal: AbortSignal): Promise<string | null> {
  try {
    const ids = parseId(instance.id);
    const pod = await newestPod(scope, ids, signal);
    if (pod === null) return 'the instance is gone';
    const condition = pod.status?.conditions?.find(({ type }) => type === 'Ready');
    if (condition?.status === 'True') return null;
    const seen = await lastEvent(scope, { namespace: ids.namespace, uid: pod.metadata?.uid }, signal);
    return seen ?? condition?.message ?? 'the instance is not ready';
  } catch (error) {
    throw translated(error, 'The instance could not be probed');
  }
}

/**
 * Returns what the latest failed probe saw. This is extra information about a failure, so the result is also null if
 * events may not be read.
 */
async function lastEvent(
  { api }: Scope,
  { namespace, uid }: { readonly namespace: string; readonly uid: string | undefined },
  signal: AbortSignal,
): Promise<string | null> {
  const query = { fieldSelector: `involvedObject.uid=${uid},reason=Unhealthy` };
  try {
    const events = await list<Event>(api, { path: pathOf('Event', { namespace }), query }, signal);
    return events.items.at(-1)?.message ?? null;
  } catch (error) {
    if (error instanceof ApiRefusal) return null;
    throw error;
  }
}
