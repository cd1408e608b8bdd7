import { inParallel } from '@davit/base';
import type { KubernetesObject } from '../client/api.ts';
import { labelled, labelledWhereSeen, removeObject } from '../client/by-label.ts';
import type { Scope } from '../client/objects.ts';
import { labelSelector } from '../names/labels.ts';

const atOnce = 4;

/**
 * Deletes the routes of a service, of both kinds: the settings may have been different when the routes were created.
 */
export async function removeRoutes(
  { api, installation }: Scope,
  owner: { readonly environment: string; readonly service: string },
  { except }: { readonly except: readonly KubernetesObject[] },
  signal: AbortSignal,
): Promise<void> {
  const labels = labelSelector(installation, null, { service: owner.service, environment: owner.environment });
  const kept = new Set(except.map(({ kind, metadata }) => `${kind} ${metadata?.name}`));
  const routes = [
    ...(await labelled(api, ['Ingress'], labels, signal)),
    ...(await labelledWhereSeen(api, ['HTTPRoute'], labels, signal)),
  ];
  const gone = routes.filter(({ kind, metadata }) => !kept.has(`${kind} ${metadata?.name}`));
  await inParallel(gone, atOnce, (object) => removeObject(api, object, signal));
}
