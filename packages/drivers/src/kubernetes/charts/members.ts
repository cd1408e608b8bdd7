import type { Pod } from 'kubernetes-types/core/v1.js';
import type { ChartRef } from '../../helm-driver.ts';
import { call, type KubernetesObject, type ListOf } from '../client/api.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { label } from '../names/labels.ts';
import { namespaceName } from '../names/names.ts';

export function namespaceOf({ owner }: ChartRef): string {
  return namespaceName(owner.installation, owner.environment);
}

/** Returns the objects of a kind that Helm created for a release, or none if Davit may not read that kind. */
export async function members<T extends KubernetesObject>(
  { api }: Scope,
  chart: ChartRef,
  kind: string,
  signal: AbortSignal,
): Promise<T[]> {
  const path = pathOf(kind, { namespace: namespaceOf(chart) });
  const query = { labelSelector: 'app.kubernetes.io/managed-by=Helm' };
  const { status, body } = await call<ListOf<T>>(api, { method: 'GET', path, query, signal, accept: [403] });
  if (status === 403) return [];
  return body.items.filter(({ metadata }) => metadata?.annotations?.['meta.helm.sh/release-name'] === chart.release);
}

/**
 * The controller of a pod, derived from the names that Kubernetes generates: a ReplicaSet has the name of its
 * Deployment as prefix, a Job of a CronJob that of the CronJob.
 */
export interface Maker {
  readonly kind: string;
  readonly name: string;
}

/** Returns the controller of a pod. Davit's own pods, and pods without an owner, have none. Pure. */
export function makerOf({ metadata }: Pod): Maker | null {
  const [owner] = metadata?.ownerReferences ?? [];
  if (owner === undefined || metadata?.labels?.[label.installation] !== undefined) return null;
  if (owner.kind !== 'ReplicaSet') return { kind: owner.kind, name: owner.name };
  const suffix = `-${metadata?.labels?.['pod-template-hash'] ?? ''}`;
  return { kind: 'Deployment', name: owner.name.endsWith(suffix) ? owner.name.slice(0, -suffix.length) : owner.name };
}

/** Returns whether a controller created the pod, directly or through another controller. Pure. */
export function isMadeBy(pod: Pod, { kind, name }: Maker): boolean {
  const maker = makerOf(pod);
  if (maker === null) return false;
  if (kind === 'CronJob') return maker.kind === 'Job' && maker.name.startsWith(`${name}-`);
  return maker.kind === kind && maker.name === name;
}
