import type { Pod } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../../driver.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { follow, type Listed } from '../client/follow.ts';
import { pathOf, remove } from '../client/objects.ts';
import { mainStatus, type Found } from '../instances/instances.ts';
import { lingerSeconds } from '../manifests/settings.ts';
import { label, podSelector } from '../names/labels.ts';

const lookEveryMilliseconds = 1_000;
/** How long a pod may exist after its grace period before this is logged. A busy node needs some seconds. */
const lateMilliseconds = 30_000;

/**
 * Deletes the pods of an instance and waits until they are gone. The pods of an unreachable node stay until the node
 * responds or is removed. The log reports each pod that is late. `force` ends the wait, unless a pod has volumes: the
 * next pod might write to them at the same time.
 */
export async function untilGone(
  scope: ClusterScope,
  found: Found,
  graceSeconds: number | null,
  context: CallContext,
): Promise<void> {
  const { signal, force } = context;
  const listed = listedOf(scope, found);
  const requested = new Map<string, Promise<void>>();
  const end = new AbortController();
  let failure: unknown = null;
  let left: readonly Pod[] = [];
  const both = AbortSignal.any([signal, end.signal]);
  const ask = async (pod: Pod): Promise<void> => {
    const grace = graceSeconds === null ? {} : { graceSeconds: graceOf(scope, pod, graceSeconds) };
    try {
      await remove(scope.api, `${listed.path}/${pod.metadata?.name}`, both, { uid: pod.metadata?.uid, ...grace });
    } catch (error) {
      if (end.signal.aborted) return;
      failure = error;
      end.abort();
    }
  };
  const onChange = (pods: ReadonlyMap<string, Pod>): void => {
    left = [...pods.values()];
    if (pods.size === 0) end.abort();
    for (const [uid, pod] of pods) if (!requested.has(uid)) requested.set(uid, ask(pod));
  };
  const logLate = lateLogger(context);
  const timer = setInterval(() => {
    logLate(left);
    // The deletion of each pod has been requested, and the pods end by themselves.
    if (force?.aborted === true && left.length > 0 && !left.some(hasVolumes))
      void Promise.all(requested.values()).then(() => end.abort());
  }, lookEveryMilliseconds);
  try {
    await follow<Pod>(scope.api, listed, { onChange }, both);
    await Promise.all(requested.values());
  } finally {
    clearInterval(timer);
  }
  signal.throwIfAborted();
  if (failure !== null) throw failure;
  if (left.length > 0) context.log(`Not waited for: ${left.map(nameOf).join(', ')}, which should end.`);
}

function listedOf({ installation }: ClusterScope, { namespace, name, controller, pods }: Found): Listed {
  const isScheduled = (controller ?? pods[0])?.metadata?.labels?.[label.schedule] !== undefined;
  return { path: pathOf('Pod', { namespace }), query: { labelSelector: podSelector(installation, name, isScheduled) } };
}

/** Logs once for each pod that still exists long after its end was due. */
function lateLogger(context: CallContext): (pods: readonly Pod[]) => void {
  const reported = new Set<string | undefined>();
  return (pods) => {
    for (const pod of pods) {
      const { uid, deletionTimestamp } = pod.metadata ?? {};
      // `deletionTimestamp` is the time at which the grace period ends. A pod that nobody deleted has none.
      const isLate = Date.now() > Date.parse(String(deletionTimestamp)) + lateMilliseconds;
      if (!isLate || reported.has(uid)) continue;
      reported.add(uid);
      context.log(
        `The ${nameOf(pod)} should have ended more than ${lateMilliseconds / 1_000} s ago and still exists; Davit keeps waiting for it. ` +
          'If its node no longer answers, have the operator of the cluster repair or remove the node.',
      );
    }
  };
}

function nameOf({ metadata, spec }: Pod): string {
  return `pod ${metadata?.name}${spec?.nodeName === undefined ? '' : ` on the node ${spec.nodeName}`}`;
}

function hasVolumes({ spec }: Pod): boolean {
  return spec?.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined) === true;
}

// Kubernetes counts the time in which an instance lingers as part of the grace period. An instance that does not run
// need not linger.
function graceOf({ settings, traits }: ClusterScope, pod: Pod, graceSeconds: number): number {
  const lingers = pod.spec?.containers.some(({ lifecycle }) => lifecycle?.preStop !== undefined) === true;
  if (mainStatus(pod)?.state?.running === undefined) return graceSeconds;
  return graceSeconds + (lingers ? lingerSeconds(settings, traits) : 0);
}
