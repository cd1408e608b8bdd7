import { inParallel } from '@davit/base';
import type { ChartObject } from '../../helm-driver.ts';
import type { Ownership } from '../../workload.ts';
import { call } from '../client/api.ts';
import type { Scope } from '../client/objects.ts';
import { namespaceName } from '../names/names.ts';

interface ResourceList {
  readonly resources?: readonly { readonly kind: string; readonly name: string; readonly namespaced: boolean }[];
}

const atOnce = 4;

/** See `ClusterCharts.outside`. A kind that the cluster does not know counts as cluster-scoped. */
export async function outsideOf(
  scope: Scope,
  owner: Ownership,
  objects: readonly ChartObject[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const versions = [...new Set(objects.map(({ apiVersion }) => apiVersion))];
  const namespaced = new Set((await inParallel(versions, atOnce, (version) => namespacedKinds(scope, version, signal))).flat());
  const namespace = namespaceName(owner.installation, owner.environment);
  return outsideAmong(objects, namespaced, namespace);
}

/**
 * Returns the objects outside of a namespace. `namespaced` contains `<apiVersion> <kind>` of all namespaced kinds.
 * Pure.
 */
export function outsideAmong(objects: readonly ChartObject[], namespaced: ReadonlySet<string>, namespace: string): string[] {
  const words = objects.flatMap(({ apiVersion, kind, name, namespace: named }) => {
    if (!namespaced.has(`${apiVersion} ${kind}`)) return [`${kind} ${name}`];
    return named === null || named === namespace ? [] : [`${kind} ${name} in namespace ${named}`];
  });
  return [...new Set(words)];
}

async function namespacedKinds({ api }: Scope, apiVersion: string, signal: AbortSignal): Promise<string[]> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  if (!/^[\w./-]+$/.test(apiVersion) || apiVersion.includes('..')) return [];
  const { status, body } = await call<ResourceList>(api, { method: 'GET', path, signal, accept: [404] });
  if (status === 404) return [];
  const kinds = (body.resources ?? []).filter(({ name, namespaced }) => namespaced && !name.includes('/'));
  return kinds.map(({ kind }) => `${apiVersion} ${kind}`);
}
