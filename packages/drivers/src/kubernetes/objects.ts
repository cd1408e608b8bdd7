import type { Pod } from 'kubernetes-types/core/v1.js';
import { call, find, type Api, type KubernetesObject } from './api.ts';
import { DriverError } from '../errors.ts';
import { label } from './labels.ts';

/** The cluster, and whose objects on it are ours. */
export interface Scope {
  readonly api: Api;
  readonly installation: string;
}

/** Where objects of a kind are; without namespace: all of the cluster. */
const places: Readonly<Record<string, { readonly base: string; readonly plural: string }>> = {
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

/** Kinds of which an instance is made, the ones that make others first. */
export const controllerKinds = ['Deployment', 'StatefulSet', 'Job'] as const;

/** The path of a list of objects of a kind, or of one of them. */
export function pathOf(kind: string, place: { readonly namespace?: string; readonly name?: string } = {}): string {
  const { base, plural } = places[kind] ?? {};
  if (base === undefined || plural === undefined) throw new Error(`objects of kind ${kind} are not known`);
  const namespace = place.namespace === undefined ? '' : `/namespaces/${place.namespace}`;
  return `${base}${namespace}/${plural}${place.name === undefined ? '' : `/${encodeURIComponent(place.name)}`}`;
}

/** The path of an object that has its name. */
export function pathTo({ kind = '', metadata }: KubernetesObject): string {
  return pathOf(kind, { namespace: metadata?.namespace, name: metadata?.name ?? '' });
}

/**
 * Makes an object be as it is given (server-side apply; all that Davit says of an object it says as the field manager `davit`). One of
 * that name that is not ours is left as it is: fails with ENGINE_FAILED.
 */
export async function apply<T extends KubernetesObject>(
  { api, installation }: Scope,
  object: T,
  signal: AbortSignal,
): Promise<T> {
  const path = pathTo(object);
  const found = await find<KubernetesObject>(api, path, signal);
  if (found !== null && found.metadata?.labels?.[label.installation] !== installation) throw foreign(object);
  const query = { fieldManager: 'davit', force: 'true' };
  const contentType = 'application/apply-patch+yaml';
  return (await call<T>(api, { method: 'PATCH', path, query, body: object, contentType, signal })).body;
}

export function foreign({ kind, metadata }: KubernetesObject): DriverError {
  const place = metadata?.namespace === undefined ? '' : ` in namespace ${metadata.namespace}`;
  return new DriverError({
    cause: 'ENGINE_FAILED',
    message: `The cluster has a ${kind} ${metadata?.name}${place} that Davit did not make. Remove or rename it.`,
  });
}

interface RemoveOptions {
  readonly graceSeconds?: number;
  readonly uid?: string | undefined;
  /** What it made is gone before it is itself. */
  readonly staysFor?: 'NOTHING' | 'WHAT_IT_MADE';
}

/** Deletes an object and, behind the call, what it made. One that is gone is fine; `graceSeconds` is for pods. */
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
    // Only the very one that was looked at: another one of its name may be there by now.
    ...(uid !== undefined && { preconditions: { uid } }),
  };
  await call(api, { method: 'DELETE', path, body, signal, accept: [404, 409] });
}

/** Pods, newest first, those that are being deleted last. One that failed comes after what was made for it in the same second. */
export function byAge(pods: readonly Pod[]): Pod[] {
  const isLeaving = (pod: Pod): number => (pod.metadata?.deletionTimestamp === undefined ? 0 : 1);
  const hasFailed = (pod: Pod): number => (pod.status?.phase === 'Failed' ? 1 : 0);
  const made = (pod: Pod): string => pod.metadata?.creationTimestamp ?? '';
  return [...pods].sort((a, b) => isLeaving(a) - isLeaving(b) || made(b).localeCompare(made(a)) || hasFailed(a) - hasFailed(b));
}
