import type { Namespace, PersistentVolumeClaim } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy, NetworkPolicyPeer } from 'kubernetes-types/networking/v1.js';
import type { Ownership, Workload } from '../../workload.ts';
import { annotation, environmentLabels, serviceLabels } from '../names/labels.ts';
import { claimName, namespaceName } from '../names/names.ts';
import type { ClusterSettings } from './settings.ts';

/** Returns the namespace of an environment. Pure. */
export function toNamespace(owner: Ownership, { podSecurity }: ClusterSettings): Namespace {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: namespaceName(owner.installation, owner.environment),
      labels: {
        ...environmentLabels(owner, 'environment'),
        'pod-security.kubernetes.io/enforce': podSecurity,
      },
    },
  };
}

/**
 * Returns the network policy of an environment: only instances of the same environment, and the sources in the
 * cluster's settings, may connect to its instances. Pure.
 */
export function toNetworkPolicy(owner: Ownership, { sources }: ClusterSettings): NetworkPolicy {
  const from: NetworkPolicyPeer[] = [
    { podSelector: {} },
    ...sources.namespaces.map((name) => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } })),
    ...sources.networks.map((cidr) => ({ ipBlock: { cidr } })),
  ];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: {
      name: 'environment',
      namespace: namespaceName(owner.installation, owner.environment),
      labels: environmentLabels(owner, 'policy'),
    },
    spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from }] },
  };
}

/**
 * Returns the claims of a workload's volumes. They are named after the storage record, so that data outlives instances,
 * rollouts and releases. Pure.
 */
export function toClaims({ owner, name, volumes }: Workload, { storageClass }: ClusterSettings): PersistentVolumeClaim[] {
  return volumes.map(({ id, sizeGiB }) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claimName(owner.installation, id),
      namespace: namespaceName(owner.installation, owner.environment),
      labels: serviceLabels(owner, 'volume'),
      annotations: { [annotation.name]: name },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: `${sizeGiB}Gi` } },
      ...(storageClass !== null && { storageClassName: storageClass }),
    },
  }));
}
