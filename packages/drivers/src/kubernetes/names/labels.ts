import type { Ownership, Selector, Workload, WorkloadPort } from '../../workload.ts';
import type { KubernetesObject } from '../client/api.ts';

/** What the keys of Davit's own labels and annotations begin with; users have none of these. */
export const reservedPrefix = 'davit.';

/**
 * Labels on everything that Davit makes on a cluster, the same as on a container engine. What carries no `davit.installation` of ours
 * is not ours. Ids are valid values of labels as they are.
 */
export const label = {
  installation: 'davit.installation',
  organization: 'davit.organization',
  project: 'davit.project',
  environment: 'davit.environment',
  service: 'davit.service',
  release: 'davit.release',
  rollout: 'davit.rollout',
  index: 'davit.index',
  /** What the object is: see `ObjectKind`. */
  object: 'davit.object',
  /** Of a pod and what makes it: the name that the instance has in its namespace. */
  instance: 'davit.instance',
  /** Of what builds an image: which one, so that what a dead process left is found. */
  build: 'davit.build',
  /** Of runs that a schedule of the cluster began, and of its values: the rollout of the schedule. */
  schedule: 'davit.schedule',
} as const;

/** Annotations: what is no valid value of a label. */
export const annotation = {
  /** Ports of the workload, so that endpoints can be told without it: `8080/TCP,53/UDP`. */
  ports: 'davit.ports',
  /** The service's name, for people. */
  name: 'davit.name',
  /** Of a ScaleTarget: by which version of what it was told the cluster decides. */
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

export type Labels = Readonly<Record<string, string>>;

/** Labels of an object that all services of an environment share. */
export function environmentLabels(owner: Omit<Ownership, 'service'>, object: ObjectKind): Labels {
  return {
    'app.kubernetes.io/managed-by': 'davit',
    [label.installation]: owner.installation,
    [label.organization]: owner.organization,
    [label.project]: owner.project,
    [label.environment]: owner.environment,
    [label.object]: object,
  };
}

/** Labels of an object that belongs to one service. */
export function serviceLabels(owner: Ownership, object: ObjectKind): Labels {
  return { ...environmentLabels(owner, object), [label.service]: owner.service };
}

/** Labels of an object that all instances of a rollout share. */
export function rolloutLabels(workload: Workload, object: ObjectKind): Labels {
  return {
    ...serviceLabels(workload.owner, object),
    [label.release]: workload.release,
    [label.rollout]: workload.rollout,
  };
}

/** What Kubernetes itself writes on the pods of a Job (1.27). */
const jobLabel = { name: 'batch.kubernetes.io/job-name', uid: 'batch.kubernetes.io/controller-uid' } as const;

/**
 * An object with the labels of an instance. What a schedule makes has the same labels for all its runs: each run is named by its Job, and has
 * that one's uid as its rollout. Everything else is answered as it is. Pure.
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

/** The `labelSelector` of an instance's pods, where it is a run of a schedule or not. */
export function podSelector(installation: string, name: string, isScheduled: boolean): string {
  return `${label.installation}=${installation},${isScheduled ? `${label.schedule},${jobLabel.name}` : label.instance}=${name}`;
}

/** The `labelSelector` of a list; `fromIndex` is no equality and is applied by `matchesSelector`. */
export function labelSelector(installation: string, object: ObjectKind | null, selector: Selector): string {
  const wanted: [string, string | undefined][] = [
    [label.installation, installation],
    [label.object, object ?? undefined],
    [label.environment, selector.environment],
    [label.service, selector.service],
    [label.rollout, selector.rollout],
  ];
  const equal = wanted.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  return [...equal, ...(selector.exceptRollout === undefined ? [] : [`${label.rollout}!=${selector.exceptRollout}`])].join(',');
}

/** Whether an object with these labels is selected: what the API server was asked for, and what it cannot be asked. */
export function matchesSelector(labels: Labels, selector: Selector): boolean {
  return (
    (selector.environment === undefined || labels[label.environment] === selector.environment) &&
    (selector.service === undefined || labels[label.service] === selector.service) &&
    (selector.rollout === undefined || labels[label.rollout] === selector.rollout) &&
    (selector.exceptRollout === undefined || labels[label.rollout] !== selector.exceptRollout) &&
    (selector.fromIndex === undefined || Number(labels[label.index]) >= selector.fromIndex)
  );
}

/** Ports as the value of an annotation. */
export function formatPorts(ports: readonly WorkloadPort[]): string {
  return distinctPorts(ports)
    .map(({ port, transport }) => `${port}/${transport}`)
    .join(',');
}

export interface TransportPort {
  readonly port: number;
  readonly transport: 'TCP' | 'UDP';
}

/** Each port and transport once. */
export function distinctPorts(ports: readonly WorkloadPort[]): TransportPort[] {
  const byKey = new Map<string, TransportPort>();
  for (const { internalPort, protocol } of ports) {
    const transport = protocol === 'UDP' ? 'UDP' : 'TCP';
    byKey.set(`${internalPort}/${transport}`, { port: internalPort, transport });
  }
  return [...byKey.values()];
}

/** The inverse of `formatPorts`; anything malformed is left out, as annotations can be written by others too. */
export function parsePorts(text: string | undefined): number[] {
  const ports = (text ?? '').split(',').flatMap((part) => {
    const match = /^(\d{1,5})\/(?:TCP|UDP)$/.exec(part);
    return match ? [Number(match[1])] : [];
  });
  return [...new Set(ports)];
}
