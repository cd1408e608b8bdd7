import type { Service, ServicePort } from 'kubernetes-types/core/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import type { Workload } from '../../workload.ts';
import { annotation, distinctPorts, label, serviceLabels } from '../names/labels.ts';
import { isServiceName, namespaceName, serviceObjectName } from '../names/names.ts';
import { sharesVolumes } from './pod.ts';

/**
 * Returns the names of a workload's Services: one for its routes, and one for each host name that Kubernetes accepts.
 * Pure.
 */
export function addressNames({ owner, hostnames }: Pick<Workload, 'owner' | 'hostnames'>): string[] {
  return [...new Set([serviceObjectName(owner), ...hostnames.filter(isServiceName)])];
}

/**
 * Returns the Services of a workload. They select the ready instances of one rollout, so that changing one label of the
 * selector switches them to another rollout. Pure.
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
      // Without ports there is nothing to forward. The name still resolves to the instances themselves.
      ...(ports.length === 0 ? { clusterIP: 'None' } : { ports }),
    },
  }));
}

/**
 * Returns whether exactly one of the existing and the wanted Service has an address. A Service can neither gain nor
 * lose its address. Pure.
 */
export function hasChanged(wanted: Service, existing: Service | undefined): boolean {
  return existing !== undefined && hasAddress(existing) !== hasAddress(wanted);
}

function hasAddress({ spec }: Service): boolean {
  return spec?.clusterIP !== 'None';
}

/**
 * Returns a Service that also has the ports of the existing one: while the existing Service selects another rollout,
 * the ports of that rollout must stay. An existing Service with an address keeps its address, and with it its ports,
 * because it needs some. An existing Service without an address stays without, and its name still resolves to the
 * instances. Pure.
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
  const isHeadless = clusterIP === 'None' && !hasChanged(service, existing);
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
 * Returns a budget that lets a drain of nodes evict one instance of a service at a time. Returns null for a single
 * instance, because its node could never be drained. Returns null as well for instances that share volumes: none of
 * them can move while another one stays. Pure.
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
