import type { Pod } from 'kubernetes-types/core/v1.js';
import { list } from './follow.ts';
import { label } from './labels.ts';
import { byAge, pathOf, type Scope } from './objects.ts';

/** The pods of an instance, newest first, those that end last. */
export async function podsOf(
  { api, installation }: Scope,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<Pod[]> {
  const query = { labelSelector: `${label.installation}=${installation},${label.instance}=${name}` };
  const { items } = await list<Pod>(api, { path: pathOf('Pod', { namespace }), query }, signal);
  return byAge(items);
}

/** The one that counts; null: there is none. */
export async function newestPod(
  scope: Scope,
  place: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<Pod | null> {
  return (await podsOf(scope, place, signal))[0] ?? null;
}
