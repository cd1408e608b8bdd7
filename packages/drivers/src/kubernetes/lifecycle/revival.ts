import type { Pod } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { follow } from '../client/follow.ts';
import { pathOf, remove, type Scope } from '../client/objects.ts';
import { podsOf } from '../client/pods.ts';
import { translated } from '../client/refusals.ts';
import { mainStatus, parseId } from '../instances/instances.ts';
import { label } from '../names/labels.ts';

const replacedWithinMilliseconds = 60_000;

/**
 * See `ClusterDriver.revive`. Replaces the pod with a new one of the same instance. A pod that has not started yet is
 * left to the cluster, which is still creating it.
 */
export async function revive(scope: ClusterScope, instanceId: string, { signal }: CallContext): Promise<void> {
  const ids = parseId(instanceId);
  try {
    const [pod, ...others] = await podsOf(scope, ids, signal);
    if (pod === undefined) {
      throw new DriverError({ cause: 'ENGINE_FAILED', message: `The instance ${ids.name} is no longer on the cluster.` });
    }
    const former = new Set([pod, ...others].map(({ metadata }) => metadata?.uid));
    const status = mainStatus(pod);
    if (
      status?.state?.running === undefined &&
      status?.lastState?.terminated === undefined &&
      status?.state?.terminated === undefined
    )
      return;
    await remove(scope.api, pathOf('Pod', { namespace: ids.namespace, name: pod.metadata?.name }), signal, {
      uid: pod.metadata?.uid,
    });
    await untilReplaced(scope, ids, former, signal);
  } catch (error) {
    throw translated(error, 'The instance could not be started again');
  }
}

/** Waits until a new pod has started, for a minute at most. The cluster continues by itself after that. */
async function untilReplaced(
  { api, installation }: Scope,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  former: ReadonlySet<string | undefined>,
  signal: AbortSignal,
): Promise<void> {
  const query = { labelSelector: `${label.installation}=${installation},${label.instance}=${name}` };
  const done = new AbortController();
  const onChange = (pods: ReadonlyMap<string, Pod>): void => {
    for (const [uid, pod] of pods) {
      if (former.has(uid)) continue;
      const { state, lastState } = mainStatus(pod) ?? {};
      if (state?.running ?? state?.terminated ?? lastState?.terminated) done.abort();
    }
  };
  // If the controller was deleted in the meantime, no new pod is created.
  const ended = AbortSignal.any([signal, done.signal, AbortSignal.timeout(replacedWithinMilliseconds)]);
  await follow<Pod>(api, { path: pathOf('Pod', { namespace }), query }, { onChange }, ended);
  signal.throwIfAborted();
}
