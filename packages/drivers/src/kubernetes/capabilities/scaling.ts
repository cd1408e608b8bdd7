import { inParallel } from '@davit/base';
import type { ClusterScaling, ScaledService, WantedInstances } from '../../scaling.ts';
import { call, find, type KubernetesObject } from '../client/api.ts';
import { labelledWhereSeen } from '../client/by-label.ts';
import { follow } from '../client/follow.ts';
import { apply, foreign, pathOf, pathTo, remove, type Scope } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { refusedAmong, scalingPermissions } from '../cluster/permissions.ts';
import { toAutoscaler, toScaledObject, toTriggerAuthentications } from '../manifests/autoscaler.ts';
import { scaledPods, toScaleTarget, type ScaleTarget } from '../manifests/scale-target.ts';
import { annotation, label, labelSelector } from '../names/labels.ts';
import { namespaceName, serviceObjectName } from '../names/names.ts';

const atOnce = 4;
const merge = { method: 'PATCH', contentType: 'application/merge-patch+json', query: { fieldManager: 'davit' } } as const;
/** Kinds of objects that decide on the number of instances. They are removed before the ScaleTarget. */
const deciders = ['HorizontalPodAutoscaler', 'ScaledObject', 'TriggerAuthentication'] as const;

/**
 * The capability "scaling": a HorizontalPodAutoscaler or KEDA writes the number of a ScaleTarget. The creator of
 * the ScaleTarget sets its number once. Afterwards only the deciders write the number, so that it never has two
 * writers.
 */
export function clusterScaling(scope: Scope): ClusterScaling {
  return {
    missing: (by, signal) => inWords('The scaling support of the cluster could not be read', () => missing(scope, by, signal)),
    apply: (scaled, signal) => inWords('The scaling could not be created', () => applyScaling(scope, scaled, signal)),
    remove: (owner, signal) => inWords('The scaling could not be removed', () => removeScaling(scope, owner, signal)),
    wanted: (signal) => inWords('The numbers of instances could not be read', () => wanted(scope, signal)),
    report: ({ environment, service }, running, signal) =>
      inWords('The number of instances could not be reported', async () => {
        const name = serviceObjectName({ installation: scope.installation, service });
        const path = pathOf('ScaleTarget', { namespace: namespaceName(scope.installation, environment), name });
        await call(scope.api, {
          ...merge,
          path: `${path}/status`,
          body: { status: { replicas: running } },
          signal,
          accept: [404],
        });
      }),
    watch: (onChange, signal) =>
      inWords('The numbers of instances could not be watched', () =>
        follow<ScaleTarget>(scope.api, listed(scope), { onEvent: onChange }, signal),
      ),
  };
}

async function inWords<T>(words: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw translated(error, words);
  }
}

async function missing({ api }: Scope, by: 'USE' | 'EVENTS', signal: AbortSignal): Promise<string[]> {
  const needed =
    by === 'USE'
      ? { path: '/apis/metrics.k8s.io/v1beta1', words: 'a metrics server (metrics.k8s.io)' }
      : { path: '/apis/keda.sh/v1alpha1', words: 'KEDA (keda.sh/v1alpha1)' };
  const own = { path: '/apis/davit.dev/v1', words: 'the CustomResourceDefinition scaletargets.davit.dev of Davit' };
  const found = await Promise.all([own, needed].map(async ({ path, words }) => ((await isThere(path)) ? [] : [words])));
  const absent = found.flat();
  return absent.length > 0 ? absent : refusedAmong(api, scalingPermissions(by), signal);

  // The API of the metrics server returns 503 while that server is unreachable. The API server itself serves the
  // others.
  async function isThere(path: string): Promise<boolean> {
    const accept = path.includes('metrics.k8s.io') ? [403, 404, 503] : [403, 404];
    return (await call(api, { method: 'GET', path, signal, accept })).status === 200;
  }
}

async function applyScaling(scope: Scope, scaled: ScaledService, signal: AbortSignal): Promise<void> {
  await applyTarget(scope, scaled, signal);
  const { by } = scaled;
  const wanted: readonly KubernetesObject[] =
    by.type === 'USE' ? [toAutoscaler(scaled, by)] : [...toTriggerAuthentications(scaled, by), toScaledObject(scaled, by)];
  // Old deciders are removed first: KEDA refuses a second decider for the same target.
  await removeDeciders(scope, scaled.owner, wanted, signal);
  for (const object of wanted) await apply(scope, object, signal);
}

// Does not use server-side apply, which removes fields that an author no longer sends: the number is sent only once.
async function applyTarget(scope: Scope, scaled: ScaledService, signal: AbortSignal): Promise<void> {
  const { api, installation } = scope;
  const target = toScaleTarget(scaled);
  const path = pathTo(target);
  const found = await find<ScaleTarget>(api, path, signal);
  if (found === null) {
    const body = { ...target, spec: { ...target.spec, replicas: scaled.instances } };
    const list = pathOf('ScaleTarget', { namespace: target.metadata.namespace });
    await call(api, { method: 'POST', path: list, query: merge.query, body, signal });
  } else {
    if (found.metadata.labels?.[label.installation] !== installation) throw foreign(target);
    const { metadata, spec } = target;
    // Events may have set the number to 0. A HorizontalPodAutoscaler is switched off at 0 and would never change the
    // number.
    const isOff = scaled.by.type === 'USE' && found.spec.replicas === 0;
    const replicas = isOff ? { replicas: Math.max(scaled.min, scaled.instances, 1) } : {};
    await call(api, { ...merge, path, body: { metadata, spec: { ...spec, ...replicas } }, signal });
  }
  const replicas = found?.status?.replicas ?? scaled.instances;
  await call(api, { ...merge, path: `${path}/status`, body: { status: { replicas, selector: scaledPods(scaled) } }, signal });
}

/** Removes all objects by which a cluster decides on a service, and then the ScaleTarget. */
export async function removeScaling(
  scope: Scope,
  { environment, service }: { readonly environment?: string | undefined; readonly service: string },
  signal: AbortSignal,
): Promise<void> {
  // Deciders may exist without a ScaleTarget, if a user removed the ScaleTarget or its definition.
  await removeDeciders(scope, { environment, service }, [], signal);
  const items = await targets(scope, { environment, service }, signal);
  for (const { metadata } of items) await remove(scope.api, pathOf('ScaleTarget', metadata), signal);
}

async function removeDeciders(
  { api, installation }: Scope,
  { environment, service }: { readonly environment?: string | undefined; readonly service: string },
  except: readonly KubernetesObject[],
  signal: AbortSignal,
): Promise<void> {
  const labels = labelSelector(installation, 'scaling', { service, ...(environment && { environment }) });
  const kept = new Set(except.map(pathTo));
  const found = await labelledWhereSeen(api, deciders, labels, signal);
  // KEDA's own HorizontalPodAutoscaler has the labels of its ScaledObject and is removed with it.
  const own = found.filter(({ metadata }) => (metadata?.ownerReferences ?? []).length === 0);
  const gone = own.map(pathTo).filter((path) => !kept.has(path));
  await inParallel(gone, atOnce, (path) => remove(api, path, signal));
}

async function wanted(scope: Scope, signal: AbortSignal): Promise<WantedInstances[]> {
  return (await targets(scope, {}, signal)).flatMap(({ metadata, spec, status }) => {
    const service = metadata.labels?.[label.service];
    if (service === undefined || spec.replicas === undefined || metadata.deletionTimestamp !== undefined) return [];
    const mark = metadata.annotations?.[annotation.mark] ?? '';
    return [{ service, instances: spec.replicas, running: status?.replicas ?? null, mark }];
  });
}

/** Returns the ScaleTargets, or none if the cluster does not know the kind or the account may not read it. */
async function targets(
  scope: Scope,
  selector: { readonly environment?: string | undefined; readonly service?: string },
  signal: AbortSignal,
): Promise<readonly ScaleTarget[]> {
  const request = { method: 'GET', ...listed(scope, selector), signal, accept: [403, 404] } as const;
  const { status, body } = await call<{ readonly items?: readonly ScaleTarget[] }>(scope.api, request);
  return status === 200 ? (body.items ?? []) : [];
}

function listed(
  { installation }: Scope,
  { environment, service }: { readonly environment?: string | undefined; readonly service?: string } = {},
) {
  const selector = { ...(environment !== undefined && { environment }), ...(service !== undefined && { service }) };
  return { path: pathOf('ScaleTarget'), query: { labelSelector: labelSelector(installation, 'scaling', selector) } };
}
