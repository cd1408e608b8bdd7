import { abortablePause } from '@davit/base';
import type { Pod } from 'kubernetes-types/core/v1.js';
import { DriverError } from '../../errors.ts';
import { label } from '../names/labels.ts';
import { call, find, type Api, type KubernetesObject } from './api.ts';

/** The cluster, and the installation that owns Davit's objects on it. */
export interface Scope {
  readonly api: Api;
  readonly installation: string;
}

/** Base path and plural of each kind. A path without a namespace covers the whole cluster. */
const locations: Readonly<Record<string, { readonly base: string; readonly plural: string }>> = {
  Namespace: { base: '/api/v1', plural: 'namespaces' },
  Node: { base: '/api/v1', plural: 'nodes' },
  Secret: { base: '/api/v1', plural: 'secrets' },
  Service: { base: '/api/v1', plural: 'services' },
  Pod: { base: '/api/v1', plural: 'pods' },
  ServiceAccount: { base: '/api/v1', plural: 'serviceaccounts' },
  Event: { base: '/api/v1', plural: 'events' },
  PersistentVolumeClaim: { base: '/api/v1', plural: 'persistentvolumeclaims' },
  Deployment: { base: '/apis/apps/v1', plural: 'deployments' },
  ReplicaSet: { base: '/apis/apps/v1', plural: 'replicasets' },
  StatefulSet: { base: '/apis/apps/v1', plural: 'statefulsets' },
  DaemonSet: { base: '/apis/apps/v1', plural: 'daemonsets' },
  Job: { base: '/apis/batch/v1', plural: 'jobs' },
  CronJob: { base: '/apis/batch/v1', plural: 'cronjobs' },
  RoleBinding: { base: '/apis/rbac.authorization.k8s.io/v1', plural: 'rolebindings' },
  NetworkPolicy: { base: '/apis/networking.k8s.io/v1', plural: 'networkpolicies' },
  Ingress: { base: '/apis/networking.k8s.io/v1', plural: 'ingresses' },
  HTTPRoute: { base: '/apis/gateway.networking.k8s.io/v1', plural: 'httproutes' },
  HorizontalPodAutoscaler: { base: '/apis/autoscaling/v2', plural: 'horizontalpodautoscalers' },
  ScaleTarget: { base: '/apis/davit.dev/v1', plural: 'scaletargets' },
  ScaledObject: { base: '/apis/keda.sh/v1alpha1', plural: 'scaledobjects' },
  TriggerAuthentication: { base: '/apis/keda.sh/v1alpha1', plural: 'triggerauthentications' },
  Plan: { base: '/apis/upgrade.cattle.io/v1', plural: 'plans' },
  PodDisruptionBudget: { base: '/apis/policy/v1', plural: 'poddisruptionbudgets' },
};

/** Kinds of which an instance consists. Kinds that create others come first. */
export const controllerKinds = ['Deployment', 'StatefulSet', 'Job'] as const;

/** Returns the path of a list of objects of a kind, or of one of these objects. */
export function pathOf(kind: string, ids: { readonly namespace?: string; readonly name?: string } = {}): string {
  const { base, plural } = locations[kind] ?? {};
  if (base === undefined || plural === undefined) throw new Error(`objects of kind ${kind} are not known`);
  const namespace = ids.namespace === undefined ? '' : `/namespaces/${ids.namespace}`;
  return `${base}${namespace}/${plural}${ids.name === undefined ? '' : `/${encodeURIComponent(ids.name)}`}`;
}

/** Returns the path of an object that carries its name. */
export function pathTo({ kind = '', metadata }: KubernetesObject): string {
  return pathOf(kind, { namespace: metadata?.namespace, name: metadata?.name ?? '' });
}

/**
 * Time to wait for an object that is being deleted. A controller removes external resources, such as a load balancer,
 * in some ten seconds. Steps of deployments are retried several times, and keepers must not be blocked for long.
 */
const leavingMilliseconds = 10_000;
const lookAgainMilliseconds = 200;

/**
 * Creates or updates an object with server-side apply; Davit sets all fields as the field manager `davit`.
 * - An object of that name that is not Davit's is left as it is: fails with ENGINE_FAILED.
 * - An object that is being deleted would take the written changes with it, so the call waits for its end, for
 *   `patience`. If the object is still there after that, it fails with ENGINE_FAILED (retryable).
 */
export async function apply<T extends KubernetesObject>(
  { api, installation }: Scope,
  object: T,
  signal: AbortSignal,
  patience = leavingMilliseconds,
): Promise<T> {
  const path = pathTo(object);
  const query = { fieldManager: 'davit', force: 'true' };
  const contentType = 'application/apply-patch+yaml';
  const until = Date.now() + patience;
  for (;;) {
    const found = await find<KubernetesObject>(api, path, signal);
    if (found !== null && found.metadata?.labels?.[label.installation] !== installation) throw foreign(object);
    if (found === null || !isLeaving(found)) {
      const { body } = await call<T>(api, { method: 'PATCH', path, query, body: object, contentType, signal });
      // The deletion of the object may have begun since it was read.
      if (!isLeaving(body)) return body;
    } else if (Date.now() > until) throw staying({ ...object, ...found });
    await abortablePause(lookAgainMilliseconds, signal);
  }
}

/** Returns whether an object is being deleted. It exists until no finalizer holds it. Pure. */
function isLeaving({ metadata }: KubernetesObject): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

function staying({ kind, metadata }: KubernetesObject): DriverError {
  const finalizers = metadata?.finalizers ?? [];
  const held = finalizers.length === 0 ? 'but still exists' : `but held by finalizers: ${finalizers.join(', ')}`;
  return new DriverError({
    cause: 'ENGINE_FAILED',
    message: `The ${kind} ${metadata?.name}${refOf(metadata)} is being deleted, ${held}.`,
    hint: 'Each finalizer is removed by the controller that it is named after: have the operator of the cluster check that this controller runs. Deploy again when the object is gone.',
    retryable: true,
  });
}

export function foreign({ kind, metadata }: KubernetesObject): DriverError {
  return new DriverError({
    cause: 'ENGINE_FAILED',
    message: `The cluster has a ${kind} ${metadata?.name}${refOf(metadata)} that Davit did not create. Remove or rename it.`,
  });
}

function refOf(metadata: KubernetesObject['metadata']): string {
  return metadata?.namespace === undefined ? '' : ` in namespace ${metadata.namespace}`;
}

interface RemoveOptions {
  readonly graceSeconds?: number;
  readonly uid?: string | undefined;
  /** `WHAT_IT_MADE`: the object stays until its dependents are gone. */
  readonly staysFor?: 'NOTHING' | 'WHAT_IT_MADE';
}

/**
 * Deletes an object. The cluster deletes its dependents in the background. Succeeds if the object is already gone.
 * `graceSeconds` is for pods.
 */
export async function remove(
  api: Api,
  path: string,
  signal: AbortSignal,
  { graceSeconds, uid, staysFor = 'NOTHING' }: RemoveOptions = {},
): Promise<void> {
  const body = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: staysFor === 'NOTHING' ? 'Background' : 'Foreground',
    ...(graceSeconds !== undefined && { gracePeriodSeconds: graceSeconds }),
    // Deletes only the object that was read: another one of the same name may exist by now.
    ...(uid !== undefined && { preconditions: { uid } }),
  };
  await call(api, { method: 'DELETE', path, body, signal, accept: [404, 409] });
}

/**
 * Sorts pods: newest first, pods that are being deleted last. A failed pod comes after its replacement of the same
 * second.
 */
export function byAge(pods: readonly Pod[]): Pod[] {
  const leaves = (pod: Pod): number => (isLeaving(pod) ? 1 : 0);
  const hasFailed = (pod: Pod): number => (pod.status?.phase === 'Failed' ? 1 : 0);
  const made = (pod: Pod): string => pod.metadata?.creationTimestamp ?? '';
  return [...pods].sort((a, b) => leaves(a) - leaves(b) || made(b).localeCompare(made(a)) || hasFailed(a) - hasFailed(b));
}
