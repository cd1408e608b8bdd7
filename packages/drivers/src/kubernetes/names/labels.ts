import { equalities, ownLabel, ownLabels, type Labels } from '../../shared/labels.ts';
import type { Ownership, Selector, Workload, WorkloadPort } from '../../workload.ts';
import type { KubernetesObject } from '../client/api.ts';

/** Prefix of Davit's own labels and annotations. Users cannot set keys with this prefix. */
export const reservedPrefix = 'davit.';

/** Labels on all objects that Davit creates on a cluster. Ids are valid label values without changes. */
export const label = {
  ...ownLabel,
  /** On a pod and its controller: the name of the instance in its namespace. */
  instance: 'davit.instance',
  /** On the objects of a build: the image that is built, so that the leftovers of a dead process are found. */
  build: 'davit.build',
  /** On runs that a schedule of the cluster began, and on the values of the schedule: the rollout of the schedule. */
  schedule: 'davit.schedule',
} as const;

/** Annotations, for texts that are not valid label values. */
export const annotation = {
  /** Ports of the workload, so that endpoints are known without the workload: `8080/TCP,53/UDP`. */
  ports: 'davit.ports',
  /** The service's name, for people. */
  name: 'davit.name',
  /** On a ScaleTarget: the version of the settings by which the cluster decides. */
  mark: 'davit.mark',
} as const;

export type ObjectKind =
  | 'environment'
  | 'instance'
  | 'address'
  | 'values'
  | 'volume'
  | 'policy'
  | 'route'
  | 'account'
  | 'scaling'
  | 'schedule'
  | 'build';

/** Returns the labels of an object that all services of an environment share. */
export function environmentLabels(owner: Omit<Ownership, 'service'>, object: ObjectKind): Labels {
  return { 'app.kubernetes.io/managed-by': 'davit', ...ownLabels(owner, object) };
}

/** Returns the labels of an object that belongs to one service. */
export function serviceLabels(owner: Ownership, object: ObjectKind): Labels {
  return { ...environmentLabels(owner, object), [label.service]: owner.service };
}

/** Returns the labels of an object that all instances of a rollout share. */
export function rolloutLabels(workload: Workload, object: ObjectKind): Labels {
  return {
    ...serviceLabels(workload.owner, object),
    [label.release]: workload.release,
    [label.rollout]: workload.rollout,
  };
}

/** Labels that Kubernetes itself sets on the pods of a Job (1.27). */
const jobLabel = { name: 'batch.kubernetes.io/job-name', uid: 'batch.kubernetes.io/controller-uid' } as const;

/**
 * Returns an object with the labels of an instance. The objects of a schedule have the same labels for all its runs.
 * Each run gets the name of its Job as its instance, and the uid of the Job as its rollout. Other objects are returned
 * unchanged. Pure.
 */
export function withRunLabels<T extends KubernetesObject>(object: T): T {
  const { metadata } = object;
  const labels = metadata?.labels ?? {};
  if (labels[label.schedule] === undefined || labels[label.instance] !== undefined) return object;
  const name = labels[jobLabel.name] ?? metadata?.name ?? '';
  const rollout = labels[jobLabel.uid] ?? metadata?.uid ?? '';
  const own = { [label.instance]: name, [label.rollout]: rollout, [label.index]: '0' };
  return { ...object, metadata: { ...metadata, labels: { ...labels, ...own } } };
}

/** Returns the `labelSelector` of an instance's pods. `isScheduled`: the instance is a run of a schedule. */
export function podSelector(installation: string, name: string, isScheduled: boolean): string {
  return `${label.installation}=${installation},${isScheduled ? `${label.schedule},${jobLabel.name}` : label.instance}=${name}`;
}

/** Returns the `labelSelector` of a list. `fromIndex` is not an equality and is applied by `matchesSelector`. */
export function labelSelector(installation: string, object: ObjectKind | null, selector: Selector): string {
  const equal = equalities(installation, object, selector);
  return [...equal, ...(selector.exceptRollout === undefined ? [] : [`${label.rollout}!=${selector.exceptRollout}`])].join(',');
}

/** Formats ports as the value of an annotation. */
export function formatPorts(ports: readonly WorkloadPort[]): string {
  return distinctPorts(ports)
    .map(({ port, transport }) => `${port}/${transport}`)
    .join(',');
}

export interface TransportPort {
  readonly port: number;
  readonly transport: 'TCP' | 'UDP';
}

/** Returns each port and transport once. */
export function distinctPorts(ports: readonly WorkloadPort[]): TransportPort[] {
  const byKey = new Map<string, TransportPort>();
  for (const { internalPort, protocol } of ports) {
    const transport = protocol === 'UDP' ? 'UDP' : 'TCP';
    byKey.set(`${internalPort}/${transport}`, { port: internalPort, transport });
  }
  return [...byKey.values()];
}

/** Parses the output of `formatPorts`. Malformed entries are ignored, because others can write annotations, too. */
export function parsePorts(text: string | undefined): number[] {
  const ports = (text ?? '').split(',').flatMap((part) => {
    const match = /^(\d{1,5})\/(?:TCP|UDP)$/.exec(part);
    return match ? [Number(match[1])] : [];
  });
  return [...new Set(ports)];
}
