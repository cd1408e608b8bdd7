import type { Namespace, Secret } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../driver.ts';
import { inParallel } from '../shared/parallel.ts';
import { pause } from '../shared/pause.ts';
import { find, type KubernetesObject } from './api.ts';
import { labelled, removeObject } from './by-label.ts';
import { label, labelSelector } from './labels.ts';
import { namespaceName } from './names.ts';
import { pathOf, remove, type Scope } from './objects.ts';
import { translated } from './refusals.ts';
import { takeAway } from './retirement.ts';
import { removeRoutes } from './route-objects.ts';
import { removeScaling } from './scaling.ts';
import { removeSchedules } from './schedule-objects.ts';
import type { ClusterScope } from './start.ts';

const atOnce = 8;
const lookAgainMilliseconds = 200;

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
    await takeAway(scope, owner, null, context);
    await removeRoutes(scope, owner, { except: [] }, signal);
    // Helm's Secrets of a release have Davit's labels. Without them nobody could uninstall it: they go with that. Their labels are no mark of
    // them, as users can have the same written on everything of a service.
    const kinds = ['Service', 'Secret', 'PodDisruptionBudget', 'PersistentVolumeClaim'];
    const objects = await labelled(scope.api, kinds, labelSelector(scope.installation, null, owner), signal);
    const own = objects.filter(({ type }: KubernetesObject & Pick<Secret, 'type'>) => type !== 'helm.sh/release.v1');
    await inParallel(own, atOnce, (object) => removeObject(scope.api, object, signal));
  } catch (error) {
    throw translated(error, 'The service could not be removed');
  }
}

// Longer than pods take to end as a rule, and clearly less than callers wait: what holds it up is to be told.
const namespaceMilliseconds = 60_000;

/**
 * See `ClusterDriver.removeEnvironment`. A namespace that is being deleted stays so until it is gone, whatever happens: one that
 * somebody's finalizer or an API that does not answer holds up is left to the cluster, and the log says what it is.
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
    // The cluster takes away all that is in it, in its own time.
    for (;;) {
      const left = await find<Namespace>(api, path, signal);
      if (left === null || left.metadata?.uid !== uid) return;
      if (Date.now() > until) return context.log(heldUp(left));
      await pause(lookAgainMilliseconds, signal);
    }
  } catch (error) {
    throw translated(error, 'The environment could not be removed');
  }
}

function heldUp({ metadata, status }: Namespace): string {
  const reasons = (status?.conditions ?? []).flatMap(({ status: is, message = '' }) => (is === 'True' ? [message] : []));
  const why = reasons.length === 0 ? 'it does not say why' : reasons.join('; ');
  return `The cluster has not removed the namespace ${metadata?.name} yet, and goes on with it by itself: ${why}.`;
}
