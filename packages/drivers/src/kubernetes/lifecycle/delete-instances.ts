import { inParallel } from '@davit/base';
import type { CallContext } from '../../driver.ts';
import type { Selector } from '../../workload.ts';
import type { KubernetesObject } from '../client/api.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { list } from '../client/follow.ts';
import { pathOf, remove } from '../client/objects.ts';
import { findSelected, type Found } from '../instances/instances.ts';
import { podSelector } from '../names/labels.ts';
import { untilGone } from './pods-that-end.ts';

const atOnce = 8;

/**
 * Deletes controllers and pods and waits until the pods are gone (see `untilGone`). If `graceSeconds` is null, each pod
 * keeps the grace period that it was created with.
 */
export async function deleteInstances(
  scope: ClusterScope,
  selector: Selector,
  graceSeconds: number | null,
  context: CallContext,
): Promise<void> {
  const found = await findSelected(scope, selector, context.signal);
  await inParallel(found, atOnce, (one) => removeOne(scope, one, graceSeconds, context));
}

async function removeOne(scope: ClusterScope, found: Found, graceSeconds: number | null, context: CallContext): Promise<void> {
  const { api, installation } = scope;
  const { signal } = context;
  const { namespace, name, controller } = found;
  if (controller !== null) await remove(api, pathOf(controller.kind ?? '', { namespace, name }), signal);
  const query = { labelSelector: podSelector(installation, name, false) };
  // A Deployment creates pods with ReplicaSets. A ReplicaSet would create another pod until it is gone as well.
  const sets = await list<KubernetesObject>(api, { path: pathOf('ReplicaSet', { namespace }), query }, signal);
  for (const { metadata } of sets.items) await remove(api, pathOf('ReplicaSet', { namespace, name: metadata?.name }), signal);
  await untilGone(scope, found, graceSeconds, context);
}
