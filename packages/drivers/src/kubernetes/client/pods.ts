import type { Pod } from 'kubernetes-types/core/v1.js';
import { podSelector } from '../names/labels.ts';
import { list } from './follow.ts';
import { byAge, pathOf, type Scope } from './objects.ts';

/** Returns the pods of an instance: newest first, pods that are being deleted last. */
export async function podsOf(
  { api, installation }: Scope,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<Pod[]> {
  const pods = async (isScheduled: boolean): Promise<readonly Pod[]> => {
    const query = { labelSelector: podSelector(installation, name, isScheduled) };
    return (await list<Pod>(api, { path: pathOf('Pod', { namespace }), query }, signal)).items;
  };
  // The name does not show whether the instance is a scheduled run. Few instances are, so the others are looked up
  // first.
  const own = await pods(false);
  return byAge(own.length > 0 ? own : await pods(true));
}

/** Returns the current pod of an instance, or null if there is none. */
export async function newestPod(
  scope: Scope,
  ids: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<Pod | null> {
  return (await podsOf(scope, ids, signal))[0] ?? null;
}
