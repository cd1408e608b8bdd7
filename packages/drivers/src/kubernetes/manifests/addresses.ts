import type { Service, ServicePort } from 'kubernetes-types/core/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import type { Workload } from '../../workload.ts';
import { annotation, distinctPorts, label, serviceLabels } from '../names/labels.ts';
import { isServiceName, namespaceName, serviceObjectName } from '../names/names.ts';
import { sharesVolumes } from './pod.ts';

/** Names of a workload's Services: one of its own, by which routes know it, and one for each host name that Kubernetes can have. Pure. */
export function addressNames({ owner, hostnames }: Pick<Workload, 'owner' | 'hostnames'>): string[] {
  return [...new Set([serviceObjectName(owner), ...hostnames.filter(isServiceName)])];
}

/**
 * The Services of a workload. They lead to the ready instances of one rollout, so that another one is switched to by changing one
 * label of the selector. Pure.
 */
export function toServices(workload: Workload, rollout: string): Service[] {
  const { owner, name } = workload;
  const ports = toServicePorts(workload);
  return addressNames(workload).map((host) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: host,
      namespace: namespaceName(owner.installation, owner.environment),
      labels: serviceLabels(owner, 'address'),
      annotations: { [annotation.name]: name },
    },
    spec: {
      type: 'ClusterIP',
      selector: { [label.installation]: owner.installation, [label.service]: owner.service, [label.rollout]: rollout },
      // Without ports there is nothing to forward; the name still leads to the instances themselves.
      ...(ports.length === 0 ? { clusterIP: 'None' } : { ports }),
    },
  }));
}

/** Whether the one that is there has an address and the wanted one has none, or the other way round: neither can change. Pure. */
export function isOtherwise(wanted: Service, existing: Service | undefined): boolean {
  return existing !== undefined && hasAddress(existing) !== hasAddress(wanted);
}

function hasAddress({ spec }: Service): boolean {
  return spec?.clusterIP !== 'None';
}

/**
 * A Service with the ports of the one that is there as well: as long as it leads to another rollout, that one's ports must stay. One that
 * has an address keeps it, and with it its ports, as it needs some; one without stays so, and its name still leads to the instances. Pure.
 */
export function keepingPorts(service: Service, existing: Service | undefined): Service {
  const own = service.spec?.ports ?? [];
  const kept = (existing?.spec?.ports ?? []).filter(({ name }) => !own.some((port) => port.name === name));
  const ports = kept.map(({ name, port, targetPort, protocol, appProtocol }) => ({
    name,
    port,
    targetPort,
    protocol,
    appProtocol,
  }));
  const all = [...own, ...ports];
  if (all.length === 0) return service;
  const { clusterIP, ...spec } = service.spec ?? {};
  const isHeadless = clusterIP === 'None' && !isOtherwise(service, existing);
  return { ...service, spec: { ...spec, ...(isHeadless && { clusterIP }), ports: all } };
}

function toServicePorts({ ports }: Workload): ServicePort[] {
  return distinctPorts(ports).map(({ port, transport }) => ({
    name: `${transport.toLowerCase()}-${port}`,
    port,
    targetPort: port,
    protocol: transport,
    ...(ports.some(({ internalPort, protocol }) => internalPort === port && protocol === 'GRPC') && {
      appProtocol: 'kubernetes.io/h2c',
    }),
  }));
}

/**
 * Lets a drain of nodes take away one instance of a service at a time; null for a single one, which would keep the node from being
 * drained for ever, and so would instances that share volumes: none of them can go elsewhere while another one stays. Pure.
 */
export function toDisruptionBudget(workload: Workload): PodDisruptionBudget | null {
  const { owner, instances, runsOnce } = workload;
  if (instances < 2 || runsOnce === true || sharesVolumes(workload)) return null;
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: {
      name: serviceObjectName(owner),
      namespace: namespaceName(owner.installation, owner.environment),
      labels: serviceLabels(owner, 'policy'),
    },
    spec: {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: { [label.installation]: owner.installation, [label.service]: owner.service } },
    },
  };
}
