import type { ClusterScaling, ScaledService, WantedInstances } from '../../scaling.ts';
import { inParallel } from '../../shared/parallel.ts';
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
/** What decides, before what it decides on. */
const deciders = ['HorizontalPodAutoscaler', 'ScaledObject', 'TriggerAuthentication'] as const;

/**
 * The optional power "scaling": a HorizontalPodAutoscaler or KEDA writes the number of a ScaleTarget. Whoever makes that object gives
 * it its number once; afterwards the number is the deciders' alone, so that no two write it.
 */
export function clusterScaling(scope: Scope): ClusterScaling {
  return {
    missing: (by, signal) => inWords('The cluster does not tell whether it can scale', () => missing(scope, by, signal)),
    apply: (scaled, signal) => inWords('The scaling could not be made', () => applyScaling(scope, scaled, signal)),
    remove: (owner, signal) => inWords('The scaling could not be removed', () => removeScaling(scope, owner, signal)),
    wanted: (signal) => inWords('The numbers of instances could not be read', () => wanted(scope, signal)),
    report: ({ environment, service }, running, signal) =>
      inWords('The number of instances could not be told', async () => {
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

  // The metrics server's API answers 503 while that is away; the others are the API server's own.
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
  // First what decides no more: KEDA refuses a second one beside it.
  await removeDeciders(scope, scaled.owner, wanted, signal);
  for (const object of wanted) await apply(scope, object, signal);
}

// Not by server-side apply, by which an author takes back what it says no more: the number, which it says once.
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
    // At nothing, where events had brought it, a HorizontalPodAutoscaler is switched off and would never write it.
    const isOff = scaled.by.type === 'USE' && found.spec.replicas === 0;
    const replicas = isOff ? { replicas: Math.max(scaled.least, scaled.instances, 1) } : {};
    await call(api, { ...merge, path, body: { metadata, spec: { ...spec, ...replicas } }, signal });
  }
  const replicas = found?.status?.replicas ?? scaled.instances;
  await call(api, { ...merge, path: `${path}/status`, body: { status: { replicas, selector: scaledPods(scaled) } }, signal });
}

/** Takes away all by which a cluster decides on a service, and then its number. */
export async function removeScaling(
  scope: Scope,
  { environment, service }: { readonly environment?: string | undefined; readonly service: string },
  signal: AbortSignal,
): Promise<void> {
  // What decides may be there without the number, when somebody took that or its definition away.
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
  // KEDA's own HorizontalPodAutoscaler has the labels of its ScaledObject, and goes with it.
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

/** None where the cluster does not know them, or the account may not look at them. */
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
