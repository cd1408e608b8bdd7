import { call, type Api, type KubernetesObject } from './api.ts';
import { pathOf, remove } from './objects.ts';

/** Returns the objects of several kinds that match a label selector, from all namespaces, each with its kind. */
export async function labelled(
  api: Api,
  kinds: readonly string[],
  labelSelector: string,
  signal: AbortSignal,
): Promise<KubernetesObject[]> {
  return listEach(api, kinds, { labelSelector, signal, accept: [] });
}

/**
 * Works like `labelled`, but ignores kinds that the cluster does not have or that the account may not read: Davit
 * created no objects of these kinds.
 */
export async function labelledWhereSeen(
  api: Api,
  kinds: readonly string[],
  labelSelector: string,
  signal: AbortSignal,
): Promise<KubernetesObject[]> {
  return listEach(api, kinds, { labelSelector, signal, accept: [403, 404] });
}

interface ListOptions {
  readonly labelSelector: string;
  readonly signal: AbortSignal;
  readonly accept: readonly number[];
}

async function listEach(api: Api, kinds: readonly string[], { labelSelector, ...how }: ListOptions): Promise<KubernetesObject[]> {
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      const request = { method: 'GET', path: pathOf(kind), query: { labelSelector }, ...how } as const;
      const { status, body } = await call<{ readonly items?: readonly KubernetesObject[] }>(api, request);
      // Objects in a list do not carry their kind.
      return status === 200 ? (body.items ?? []).map((item) => ({ ...item, kind })) : [];
    }),
  );
  return lists.flat();
}

/** Deletes an object that carries its kind. Succeeds if the object is already gone. */
export async function removeObject(api: Api, { kind = '', metadata }: KubernetesObject, signal: AbortSignal): Promise<void> {
  await remove(api, pathOf(kind, { namespace: metadata?.namespace, name: metadata?.name }), signal);
}
