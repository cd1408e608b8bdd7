import { equalities, ownLabel, ownLabels, type Labels } from '../shared/labels.ts';
import type { Ownership, Selector, Workload, WorkloadPort } from '../workload.ts';

/** Label names on all objects that Davit creates on an engine. */
export const label = {
  ...ownLabel,
  /** Ports of the workload, such as `8080/tcp,53/udp`. Endpoints can be derived from the label without the workload. */
  ports: 'davit.ports',
  /** On a network: the range of addresses in it that belong to services. */
  addresses: 'davit.addresses',
  /** On a holder: the address of its service, if Davit chose it. */
  address: 'davit.address',
  /** On a holder: the names of its service. */
  names: 'davit.names',
  /** `true` on an instance whose service has an address. */
  addressed: 'davit.addressed',
  /** Set on an image by its author: the image's process must be process 1. */
  ownInit: 'davit.own-init',
} as const;

export type ObjectKind = 'instance' | 'address' | 'network' | 'volume' | 'image';

/** Returns the labels of an object that belongs to one service. */
export function serviceLabels(owner: Ownership, object: ObjectKind): Labels {
  return { ...environmentLabels(owner, object), [label.service]: owner.service };
}

/** Returns the labels of an object that all services of an environment share (its network). */
export function environmentLabels(owner: Ownership, object: ObjectKind): Labels {
  return ownLabels(owner, object);
}

/** Returns the labels of one instance of a workload. */
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
 * Returns the engine-side filter for a selector: label conditions that must all hold. `exceptRollout` and `fromIndex`
 * have no such filter, because engines can neither negate nor compare. `matchesSelector` applies them.
 */
export function labelFilter(installation: string, object: ObjectKind, selector: Selector): string[] {
  return equalities(installation, object, selector);
}

export interface LabelledPort {
  readonly internalPort: number;
  readonly transport: 'tcp' | 'udp';
}

/** Returns the transport that carries a port's protocol. */
export function transportOf(port: Pick<WorkloadPort, 'protocol'>): 'tcp' | 'udp' {
  return port.protocol === 'UDP' ? 'udp' : 'tcp';
}

/** Parses the value of `formatPorts`. Malformed parts are ignored, because others can write labels too. */
export function parsePorts(text: string | undefined): LabelledPort[] {
  return (text ?? '').split(',').flatMap((part): LabelledPort[] => {
    const match = /^(\d{1,5})\/(tcp|udp)$/.exec(part);
    return match ? [{ internalPort: Number(match[1]), transport: match[2] === 'udp' ? 'udp' : 'tcp' }] : [];
  });
}

/** Formats ports as the value of a label. */
export function formatPorts(ports: readonly WorkloadPort[]): string {
  return [...new Set(ports.map((port) => `${port.internalPort}/${transportOf(port)}`))].join(',');
}
