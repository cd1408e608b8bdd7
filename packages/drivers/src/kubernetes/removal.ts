import type { Namespace, Pod, Service } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import { inParallel } from '../shared/parallel.ts';
import { pause } from '../shared/pause.ts';
import type { Selector } from '../workload.ts';
import { call, find, type Api, type KubernetesObject } from './api.ts';
import { follow, list } from './follow.ts';
import { findSelected, mainStatus, parseId, type Found } from './instances.ts';
import { label, labelSelector, podSelector } from './labels.ts';
import { lingerSeconds } from './manifests/settings.ts';
import { namespaceName } from './names.ts';
import { pathOf, remove, type Scope } from './objects.ts';
import { podsOf } from './pods.ts';
import { translated } from './refusals.ts';
import { removeScaling } from './scaling.ts';
import { removeSchedules } from './schedule-objects.ts';
import { hasInstances, type ClusterScope } from './start.ts';

const atOnce = 8;
const lookAgainMilliseconds = 200;
const replacedWithinMilliseconds = 60_000;

/** See `ClusterDriver.retire`. */
export async function retire(scope: ClusterScope, selector: Selector, graceSeconds: number, context: CallContext): Promise<void> {
  const { signal } = context;
  try {
    const { service, exceptRollout } = selector;
    if (service !== undefined && exceptRollout !== undefined)
      await serveRollout(scope, { service, rollout: exceptRollout }, signal);
    await takeAway(scope, selector, graceSeconds, signal);
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

/** Deletes controllers and pods, and waits until the pods are gone. Null: each with the grace that it was made with. */
async function takeAway(
  scope: ClusterScope,
  selector: Selector,
  graceSeconds: number | null,
  signal: AbortSignal,
): Promise<void> {
  const found = await findSelected(scope, selector, signal);
  await inParallel(found, atOnce, (one) => takeAwayOne(scope, one, graceSeconds, signal));
}

async function takeAwayOne(scope: ClusterScope, found: Found, graceSeconds: number | null, signal: AbortSignal): Promise<void> {
  const { api, installation } = scope;
  const { namespace, name, controller } = found;
  if (controller !== null) await remove(api, pathOf(controller.kind ?? '', { namespace, name }), signal);
  const query = { labelSelector: podSelector(installation, name, false) };
  // What a Deployment makes pods with: until it is gone as well it would make another one.
  const sets = await list<KubernetesObject>(api, { path: pathOf('ReplicaSet', { namespace }), query }, signal);
  for (const { metadata } of sets.items) await remove(api, pathOf('ReplicaSet', { namespace, name: metadata?.name }), signal);
  await untilGone(scope, found, graceSeconds, signal);
}

async function untilGone(
  scope: ClusterScope,
  { namespace, name, controller, pods }: Found,
  graceSeconds: number | null,
  signal: AbortSignal,
): Promise<void> {
  const { api, installation } = scope;
  const isScheduled = (controller ?? pods[0])?.metadata?.labels?.[label.schedule] !== undefined;
  const query = { labelSelector: podSelector(installation, name, isScheduled) };
  const path = pathOf('Pod', { namespace });
  const asked = new Map<string, Promise<void>>();
  const gone = new AbortController();
  let failure: unknown = null;
  const both = AbortSignal.any([signal, gone.signal]);
  const ask = (pod: Pod): Promise<void> =>
    remove(api, `${path}/${pod.metadata?.name}`, both, {
      uid: pod.metadata?.uid,
      ...(graceSeconds !== null && { graceSeconds: graceOf(scope, pod, graceSeconds) }),
    });
  const onChange = (pods: ReadonlyMap<string, Pod>): void => {
    if (pods.size === 0) gone.abort();
    for (const [uid, pod] of pods) {
      if (asked.has(uid)) continue;
      const asking = ask(pod).catch((error: unknown) => {
        if (gone.signal.aborted) return;
        failure = error;
        gone.abort();
      });
      asked.set(uid, asking);
    }
  };
  await follow<Pod>(api, { path, query }, { onChange }, both);
  await Promise.all(asked.values());
  signal.throwIfAborted();
  if (failure !== null) throw failure;
}

// The time in which an instance lingers is part of what Kubernetes calls grace. One that does not run has nothing to linger for.
function graceOf({ settings, traits }: ClusterScope, pod: Pod, graceSeconds: number): number {
  const lingers = pod.spec?.containers.some(({ lifecycle }) => lifecycle?.preStop !== undefined) === true;
  if (mainStatus(pod)?.state?.running === undefined) return graceSeconds;
  return graceSeconds + (lingers ? lingerSeconds(settings, traits) : 0);
}

/** Values of rollouts that have no instance any more, and of a service that was retired as a whole its addresses. */
async function removeLeftovers(scope: ClusterScope, selector: Selector, signal: AbortSignal): Promise<void> {
  const { service, rollout, exceptRollout, fromIndex, environment } = selector;
  // What is scaled to nothing comes again, and KEDA looks at its variables meanwhile.
  if (service === undefined || fromIndex !== undefined) return;
  const left = await findSelected(scope, { service, environment }, signal);
  const rollouts = new Set(left.map(({ controller, pods }) => (controller ?? pods[0])?.metadata?.labels?.[label.rollout]));
  const values = await labelled(scope, ['Secret'], labelSelector(scope.installation, 'values', selector), signal);
  const unused = values.filter(
    ({ metadata }) => metadata?.labels?.[label.schedule] === undefined && !rollouts.has(metadata?.labels?.[label.rollout]),
  );
  const isWhole = rollout === undefined && exceptRollout === undefined && left.length === 0;
  if (isWhole) await removeScaling(scope, { service, environment }, signal);
  const addresses = isWhole
    ? await labelled(
        scope,
        ['Service', 'PodDisruptionBudget'],
        labelSelector(scope.installation, null, { service, environment }),
        signal,
      )
    : [];
  await inParallel([...unused, ...addresses], atOnce, (object) => removeObject(scope, object, signal));
  await removeScheduleValues(scope, { service, environment }, signal);
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
  const values = await labelled(scope, ['Secret'], `${labelSelector(installation, 'values', owner)},${label.schedule}`, signal);
  if (values.length === 0) return;
  const schedules = await labelled(scope, ['CronJob'], labelSelector(installation, 'schedule', owner), signal);
  const runs = await labelled(scope, ['Job'], `${labelSelector(installation, 'instance', owner)},${label.schedule}`, signal);
  const used = new Set([
    ...schedules.map(({ metadata }) => metadata?.labels?.[label.rollout]),
    ...runs.map(({ metadata }) => metadata?.labels?.[label.schedule]),
  ]);
  const unused = values.filter(({ metadata }) => !used.has(metadata?.labels?.[label.schedule]));
  await inParallel(unused, atOnce, (object) => removeObject(scope, object, signal));
}

export async function labelled(
  scope: Scope,
  kinds: readonly string[],
  labels: string,
  signal: AbortSignal,
): Promise<KubernetesObject[]> {
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      const path = pathOf(kind);
      const { items } = await list<KubernetesObject>(scope.api, { path, query: { labelSelector: labels } }, signal);
      return items.map((item) => ({ ...item, kind }));
    }),
  );
  return lists.flat();
}

async function removeObject({ api }: Scope, { kind = '', metadata }: KubernetesObject, signal: AbortSignal): Promise<void> {
  await remove(api, pathOf(kind, { namespace: metadata?.namespace, name: metadata?.name }), signal);
}

/** See `ClusterDriver.removeService`. */
export async function removeService(
  scope: ClusterScope,
  owner: { readonly environment: string; readonly service: string },
  { signal }: CallContext,
): Promise<void> {
  try {
    await removeScaling(scope, owner, signal);
    await removeSchedules(scope, owner, { except: null }, signal);
    await takeAway(scope, owner, null, signal);
    await removeRoutes(scope, owner, { except: [] }, signal);
    const kinds = ['Service', 'Secret', 'PodDisruptionBudget', 'PersistentVolumeClaim'];
    const objects = await labelled(scope, kinds, labelSelector(scope.installation, null, owner), signal);
    await inParallel(objects, atOnce, (object) => removeObject(scope, object, signal));
  } catch (error) {
    throw translated(error, 'The service could not be removed');
  }
}

/** Takes the routes of a service away, of either kind: the settings may have been others when they were made. */
export async function removeRoutes(
  scope: Scope,
  owner: { readonly environment: string; readonly service: string },
  { except }: { readonly except: readonly KubernetesObject[] },
  signal: AbortSignal,
): Promise<void> {
  const { api, installation } = scope;
  const labels = labelSelector(installation, null, { service: owner.service, environment: owner.environment });
  const kept = new Set(except.map(({ kind, metadata }) => `${kind} ${metadata?.name}`));
  const routes = [...(await labelled(scope, ['Ingress'], labels, signal)), ...(await httpRoutes(api, labels, signal))];
  const gone = routes.filter(({ kind, metadata }) => !kept.has(`${kind} ${metadata?.name}`));
  await inParallel(gone, atOnce, (object) => removeObject(scope, object, signal));
}

/** A cluster without the Gateway API has none, and so has an account that may not look at them. */
async function httpRoutes(api: Api, labelSelector: string, signal: AbortSignal): Promise<KubernetesObject[]> {
  const request = { method: 'GET', path: pathOf('HTTPRoute'), query: { labelSelector }, signal, accept: [403, 404] } as const;
  const { status, body } = await call<{ readonly items?: readonly KubernetesObject[] }>(api, request);
  return status === 200 ? (body.items ?? []).map((item) => ({ ...item, kind: 'HTTPRoute' })) : [];
}

// Longer than pods may take to end; what takes longer is held up by something that is not Davit's.
const namespaceMilliseconds = 120_000;

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

/**
 * See `ClusterDriver.revive`. The pod is replaced by a new one of the same instance. One that has not begun yet is left to the cluster,
 * which is making it.
 */
export async function revive(scope: ClusterScope, instanceId: string, { signal }: CallContext): Promise<void> {
  const place = parseId(instanceId);
  try {
    const [pod, ...others] = await podsOf(scope, place, signal);
    if (pod === undefined) {
      throw new DriverError({ cause: 'ENGINE_FAILED', message: `The instance ${place.name} is no longer on the cluster.` });
    }
    const former = new Set([pod, ...others].map(({ metadata }) => metadata?.uid));
    const status = mainStatus(pod);
    if (
      status?.state?.running === undefined &&
      status?.lastState?.terminated === undefined &&
      status?.state?.terminated === undefined
    )
      return;
    await remove(scope.api, pathOf('Pod', { namespace: place.namespace, name: pod.metadata?.name }), signal, {
      uid: pod.metadata?.uid,
    });
    await untilReplaced(scope, place, former, signal);
  } catch (error) {
    throw translated(error, 'The instance could not be started again');
  }
}

/** Until a pod that was not there before has been started, a minute at most: the cluster goes on by itself. */
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
  // Whoever took away what makes the pods meanwhile makes none.
  const ended = AbortSignal.any([signal, done.signal, AbortSignal.timeout(replacedWithinMilliseconds)]);
  await follow<Pod>(api, { path: pathOf('Pod', { namespace }), query }, { onChange }, ended);
  signal.throwIfAborted();
}
