import { abortablePause, inParallel } from '@davit/base';
import type { Namespace, Secret } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../driver.ts';
import type { Selector } from '../workload.ts';
import { find, type KubernetesObject } from './client/api.ts';
import { labelled, removeObject } from './client/by-label.ts';
import type { ClusterScope } from './client/cluster-scope.ts';
import { pathOf, remove, type Scope } from './client/objects.ts';
import { translated } from './client/refusals.ts';
import { findSelected, type Found } from './instances/instances.ts';
import { serveRollout } from './lifecycle/serve.ts';
import { deleteInstances } from './lifecycle/delete-instances.ts';
import { label, labelSelector } from './names/labels.ts';
import { namespaceName } from './names/names.ts';
import { removeRoutes } from './capabilities/route-objects.ts';
import { removeScaling } from './capabilities/scaling.ts';
import { removeSchedules } from './capabilities/schedule-objects.ts';

const atOnce = 8;
const lookAgainMilliseconds = 200;

/** See `ClusterDriver.retire`. */
export async function retire(scope: ClusterScope, selector: Selector, graceSeconds: number, context: CallContext): Promise<void> {
  const { signal } = context;
  try {
    const { service, exceptRollout } = selector;
    if (service !== undefined && exceptRollout !== undefined)
      await serveRollout(scope, { service, rollout: exceptRollout }, signal);
    await deleteInstances(scope, selector, graceSeconds, context);
    await removeLeftovers(scope, selector, signal);
  } catch (error) {
    throw translated(error, 'The instances could not be removed');
  }
}

/**
 * Removes the values of rollouts that have no instance left. If the service was retired as a whole, removes its
 * addresses as well.
 */
async function removeLeftovers(scope: ClusterScope, selector: Selector, signal: AbortSignal): Promise<void> {
  const { service, rollout, exceptRollout, fromIndex, environment } = selector;
  // A service that is scaled to zero is scaled up again later, and KEDA reads its variables in the meantime.
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

/**
 * Returns whether an instance stays. An instance that is being deleted starts nothing any more, so it needs none of the
 * leftovers, even if nobody waits for its end.
 */
function stays({ controller, pods }: Found): boolean {
  const own = controller === null ? pods : [controller];
  return own.some(({ metadata }) => metadata?.deletionTimestamp === undefined);
}

/**
 * Removes the values of schedules that the service no longer has, once no run is left that reads them. The CronJob of
 * its current schedule is created before the values of that schedule.
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

/** See `ClusterDriver.removeService`. */
export async function removeService(
  scope: ClusterScope,
  owner: { readonly environment: string; readonly service: string },
  context: CallContext,
): Promise<void> {
  const { signal } = context;
  try {
    await removeScaling(scope, owner, signal);
    await removeSchedules(scope, owner, { except: null }, signal);
    await deleteInstances(scope, owner, null, context);
    await removeRoutes(scope, owner, { except: [] }, signal);
    // Helm's Secrets of a release carry Davit's labels. Without these Secrets nobody could uninstall the release, so
    // they are removed by the uninstallation. Helm's labels do not identify them, because users can have the same
    // labels written on all objects of a service.
    const kinds = ['Service', 'Secret', 'PodDisruptionBudget', 'PersistentVolumeClaim'];
    const objects = await labelled(scope.api, kinds, labelSelector(scope.installation, null, owner), signal);
    const own = objects.filter(({ type }: KubernetesObject & Pick<Secret, 'type'>) => type !== 'helm.sh/release.v1');
    await inParallel(own, atOnce, (object) => removeObject(scope.api, object, signal));
  } catch (error) {
    throw translated(error, 'The service could not be removed');
  }
}

// Longer than pods usually take to end, and clearly shorter than callers wait, so that the log can name the cause of a
// delay.
const namespaceMilliseconds = 60_000;

/**
 * See `ClusterDriver.removeEnvironment`. A namespace that is being deleted stays in that state until it is gone. If a
 * foreign finalizer or an unreachable API blocks the deletion, the namespace is left to the cluster and the log names
 * the cause.
 */
export async function removeEnvironment(
  scope: Scope,
  environment: string,
  context: CallContext,
  patience = namespaceMilliseconds,
): Promise<void> {
  const { api, installation } = scope;
  const { signal } = context;
  const path = pathOf('Namespace', { name: namespaceName(installation, environment) });
  try {
    const found = await find<KubernetesObject>(api, path, signal);
    if (found === null || found.metadata?.labels?.[label.installation] !== installation) return;
    const uid = found.metadata.uid;
    await remove(api, path, signal, { uid });
    const until = Date.now() + patience;
    // The cluster deletes everything in the namespace at its own pace.
    for (;;) {
      const left = await find<Namespace>(api, path, signal);
      if (left === null || left.metadata?.uid !== uid) return;
      if (Date.now() > until) return context.log(heldUp(left));
      await abortablePause(lookAgainMilliseconds, signal);
    }
  } catch (error) {
    throw translated(error, 'The environment could not be removed');
  }
}

function heldUp({ metadata, status }: Namespace): string {
  const reasons = (status?.conditions ?? []).flatMap(({ status: is, message = '' }) => (is === 'True' ? [message] : []));
  const why = reasons.length === 0 ? 'it gives no reason' : reasons.join('; ');
  return `The cluster has not removed the namespace ${metadata?.name} yet; the removal continues on its own: ${why}.`;
}
