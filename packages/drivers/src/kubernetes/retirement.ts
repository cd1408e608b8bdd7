import type { Service } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../driver.ts';
import { inParallel } from '../shared/parallel.ts';
import type { Selector } from '../workload.ts';
import { call, type KubernetesObject } from './api.ts';
import { labelled, removeObject } from './by-label.ts';
import { list } from './follow.ts';
import { findSelected, type Found } from './instances.ts';
import { label, labelSelector, podSelector } from './labels.ts';
import { pathOf, remove, type Scope } from './objects.ts';
import { untilGone } from './pods-that-end.ts';
import { translated } from './refusals.ts';
import { removeScaling } from './scaling.ts';
import { hasInstances, type ClusterScope } from './start.ts';

const atOnce = 8;

/** See `ClusterDriver.retire`. */
export async function retire(scope: ClusterScope, selector: Selector, graceSeconds: number, context: CallContext): Promise<void> {
  const { signal } = context;
  try {
    const { service, exceptRollout } = selector;
    if (service !== undefined && exceptRollout !== undefined)
      await serveRollout(scope, { service, rollout: exceptRollout }, signal);
    await takeAway(scope, selector, graceSeconds, context);
    await removeLeftovers(scope, selector, signal);
  } catch (error) {
    throw translated(error, 'The instances could not be removed');
  }
}

/**
 * Makes the Services of a service lead to the instances of a rollout; nothing where that has none. From then on it gets all new
 * connections.
 */
export async function serveRollout(
  scope: ClusterScope,
  { service, rollout }: { readonly service: string; readonly rollout: string },
  signal: AbortSignal,
): Promise<void> {
  const { api, installation } = scope;
  const query = { labelSelector: labelSelector(installation, 'address', { service }) };
  const { items } = await list<Service>(api, { path: pathOf('Service'), query }, signal);
  const stale = items.filter(({ spec }) => spec?.selector?.[label.rollout] !== rollout);
  if (stale.length === 0 || !(await hasInstances(scope, { service, rollout }, signal))) return;
  await inParallel(stale, atOnce, ({ metadata }) =>
    call(api, {
      method: 'PATCH',
      path: pathOf('Service', { namespace: metadata?.namespace, name: metadata?.name ?? '' }),
      query: { fieldManager: 'davit' },
      body: { spec: { selector: { [label.rollout]: rollout } } },
      contentType: 'application/merge-patch+json',
      signal,
      accept: [404],
    }),
  );
}

/** Deletes controllers and pods, and waits until the pods are gone: see `untilGone`. Null: each with the grace that it was made with. */
export async function takeAway(
  scope: ClusterScope,
  selector: Selector,
  graceSeconds: number | null,
  context: CallContext,
): Promise<void> {
  const found = await findSelected(scope, selector, context.signal);
  await inParallel(found, atOnce, (one) => takeAwayOne(scope, one, graceSeconds, context));
}

async function takeAwayOne(scope: ClusterScope, found: Found, graceSeconds: number | null, context: CallContext): Promise<void> {
  const { api, installation } = scope;
  const { signal } = context;
  const { namespace, name, controller } = found;
  if (controller !== null) await remove(api, pathOf(controller.kind ?? '', { namespace, name }), signal);
  const query = { labelSelector: podSelector(installation, name, false) };
  // What a Deployment makes pods with: until it is gone as well it would make another one.
  const sets = await list<KubernetesObject>(api, { path: pathOf('ReplicaSet', { namespace }), query }, signal);
  for (const { metadata } of sets.items) await remove(api, pathOf('ReplicaSet', { namespace, name: metadata?.name }), signal);
  await untilGone(scope, found, graceSeconds, context);
}

/** Values of rollouts that have no instance any more, and of a service that was retired as a whole its addresses. */
async function removeLeftovers(scope: ClusterScope, selector: Selector, signal: AbortSignal): Promise<void> {
  const { service, rollout, exceptRollout, fromIndex, environment } = selector;
  // What is scaled to nothing comes again, and KEDA looks at its variables meanwhile.
  if (service === undefined || fromIndex !== undefined) return;
  const left = (await findSelected(scope, { service, environment }, signal)).filter(stays);
  const rollouts = new Set(left.map(({ controller, pods }) => (controller ?? pods[0])?.metadata?.labels?.[label.rollout]));
  const values = await labelled(scope.api, ['Secret'], labelSelector(scope.installation, 'values', selector), signal);
  const unused = values.filter(
    ({ metadata }) => metadata?.labels?.[label.schedule] === undefined && !rollouts.has(metadata?.labels?.[label.rollout]),
  );
  const isWhole = rollout === undefined && exceptRollout === undefined && left.length === 0;
  if (isWhole) await removeScaling(scope, { service, environment }, signal);
  const addresses = isWhole
    ? await labelled(
        scope.api,
        ['Service', 'PodDisruptionBudget'],
        labelSelector(scope.installation, null, { service, environment }),
        signal,
      )
    : [];
  await inParallel([...unused, ...addresses], atOnce, (object) => removeObject(scope.api, object, signal));
  await removeScheduleValues(scope, { service, environment }, signal);
}

/** What is being deleted starts nothing any more: it needs nothing of what is left over, should nobody wait for its end. */
function stays({ controller, pods }: Found): boolean {
  const own = controller === null ? pods : [controller];
  return own.some(({ metadata }) => metadata?.deletionTimestamp === undefined);
}

/**
 * Values of schedules that the service has no longer, once no run is left that reads them. Its present schedule is on the cluster before
 * its values are.
 */
async function removeScheduleValues(
  scope: Scope,
  owner: { readonly service: string; readonly environment: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { installation } = scope;
  const values = await labelled(
    scope.api,
    ['Secret'],
    `${labelSelector(installation, 'values', owner)},${label.schedule}`,
    signal,
  );
  if (values.length === 0) return;
  const schedules = await labelled(scope.api, ['CronJob'], labelSelector(installation, 'schedule', owner), signal);
  const runs = await labelled(scope.api, ['Job'], `${labelSelector(installation, 'instance', owner)},${label.schedule}`, signal);
  const used = new Set([
    ...schedules.map(({ metadata }) => metadata?.labels?.[label.rollout]),
    ...runs.map(({ metadata }) => metadata?.labels?.[label.schedule]),
  ]);
  const unused = values.filter(({ metadata }) => !used.has(metadata?.labels?.[label.schedule]));
  await inParallel(unused, atOnce, (object) => removeObject(scope.api, object, signal));
}
