import type { Pod } from 'kubernetes-types/core/v1.js';
import { podSelector } from '../names/labels.ts';
import { list } from './follow.ts';
import { byAge, pathOf, type Scope } from './objects.ts';

/** The pods of an instance, newest first, those that end last. */
export async function podsOf(
  { api, installation }: Scope,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<Pod[]> {
  const pods = async (isScheduled: boolean): Promise<readonly Pod[]> => {
    const query = { labelSelector: podSelector(installation, name, isScheduled) };
    return (await list<Pod>(api, { path: pathOf('Pod', { namespace }), query }, signal)).items;
  };
  // A name does not tell which of the two it is of; few are of runs of schedules.
  const own = await pods(false);
  return byAge(own.length > 0 ? own : await pods(true));
}

/** The one that counts; null: there is none. */
export async function newestPod(
  scope: Scope,
  place: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<Pod | null> {
  return (await podsOf(scope, place, signal))[0] ?? null;
}
