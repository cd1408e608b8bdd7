import type { Ownership, Selector, Workload, WorkloadPort } from '../workload.ts';

/** Names of the labels on everything that Davit makes on an engine. What carries no `davit.installation` of ours is not ours. */
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
  /** Ports of the workload, so that endpoints can be told without it: `8080/tcp,53/udp`. */
  ports: 'davit.ports',
  /** On an image, by whoever builds it: its process has to be process 1. */
  ownInit: 'davit.own-init',
} as const;

export type ObjectKind = 'instance' | 'network' | 'volume' | 'image';

export type Labels = Readonly<Record<string, string>>;

/** Labels of an object that belongs to one service. */
export function serviceLabels(owner: Ownership, object: ObjectKind): Labels {
  return { ...environmentLabels(owner, object), [label.service]: owner.service };
}

/** Labels of an object that all services of an environment share (its network). */
export function environmentLabels(owner: Ownership, object: ObjectKind): Labels {
  return {
    [label.installation]: owner.installation,
    [label.organization]: owner.organization,
    [label.project]: owner.project,
    [label.environment]: owner.environment,
    [label.object]: object,
  };
}

/** Labels of one instance of a workload. */
export function instanceLabels(workload: Workload, index: number): Labels {
  return {
    ...serviceLabels(workload.owner, 'instance'),
    [label.release]: workload.release,
    [label.rollout]: workload.rollout,
    [label.index]: String(index),
    [label.ports]: formatPorts(workload.ports),
  };
}

/**
 * The engine-side filter for a selector: label conditions that all must hold. `exceptRollout` and `fromIndex` have no
 * such filter (engines can neither negate nor compare) and are applied by `matchesSelector`.
 */
export function labelFilter(installation: string, object: ObjectKind, selector: Selector): string[] {
  const wanted: [string, string | undefined][] = [
    [label.installation, installation],
    [label.object, object],
    [label.environment, selector.environment],
    [label.service, selector.service],
    [label.rollout, selector.rollout],
  ];
  return wanted.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
}

/** Whether an object with these labels is selected. */
export function matchesSelector(labels: Labels, selector: Selector): boolean {
  return (
    (selector.environment === undefined || labels[label.environment] === selector.environment) &&
    (selector.service === undefined || labels[label.service] === selector.service) &&
    (selector.rollout === undefined || labels[label.rollout] === selector.rollout) &&
    (selector.exceptRollout === undefined || labels[label.rollout] !== selector.exceptRollout) &&
    (selector.fromIndex === undefined || Number(labels[label.index]) >= selector.fromIndex)
  );
}

export interface LabelledPort {
  readonly internalPort: number;
  readonly transport: 'tcp' | 'udp';
}

/** The transport that carries a port's protocol. */
export function transportOf(port: Pick<WorkloadPort, 'protocol'>): 'tcp' | 'udp' {
  return port.protocol === 'UDP' ? 'udp' : 'tcp';
}

/** The inverse of `formatPorts`; anything malformed is left out, as labels can be written by others too. */
export function parsePorts(text: string | undefined): LabelledPort[] {
  return (text ?? '').split(',').flatMap((part): LabelledPort[] => {
    const match = /^(\d{1,5})\/(tcp|udp)$/.exec(part);
    return match ? [{ internalPort: Number(match[1]), transport: match[2] === 'udp' ? 'udp' : 'tcp' }] : [];
  });
}

/** Ports as the value of a label. */
export function formatPorts(ports: readonly WorkloadPort[]): string {
  return [...new Set(ports.map((port) => `${port.internalPort}/${transportOf(port)}`))].join(',');
}
