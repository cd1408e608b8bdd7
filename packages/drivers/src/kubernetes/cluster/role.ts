import type { CustomResourceDefinition } from 'kubernetes-types/apiextensions/v1.js';
import type { Namespace, ServiceAccount } from 'kubernetes-types/core/v1.js';
import type { ClusterRole, ClusterRoleBinding, PolicyRule } from 'kubernetes-types/rbac/v1.js';
import { scaleTargetDefinition } from '../manifests/scale-target.ts';
import { permissions } from './permissions.ts';

/** Names of the objects that let Davit work on a cluster. */
export interface RoleNames {
  /** Namespace of the service account. */
  readonly namespace: string;
  /** Name of the service account, the role and the binding. */
  readonly name: string;
}

type RoleObject = Namespace | CustomResourceDefinition | ServiceAccount | ClusterRole | ClusterRoleBinding;

/** Returns the rules of the role with the least permissions that Davit needs on a cluster. */
export function roleRules(): PolicyRule[] {
  return permissions.map(({ group, resource, verbs }) => ({ apiGroups: [group], resources: [resource], verbs: [...verbs] }));
}

/**
 * Returns the additional rules for Helm charts: creating, in the namespaces of environments, an account with the role
 * `admin` of every cluster. Davit may bind that role without having the permissions of the role itself.
 */
export function chartRules(): PolicyRule[] {
  return [
    { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['get', 'create', 'patch'] },
    { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
    { apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs: ['get', 'create', 'patch'] },
    { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], resourceNames: ['admin'], verbs: ['bind'] },
    { apiGroups: ['apps'], resources: ['daemonsets'], verbs: ['list'] },
  ];
}

/**
 * Returns the objects that an operator applies so that Davit can work on a cluster: a service account with
 * `permissions` and nothing else, and the kind of object in which the cluster states how many instances it wants. With
 * `charts`, the result includes what charts need.
 */
export function roleObjects({ namespace, name }: RoleNames, { charts = false } = {}): RoleObject[] {
  const rules = [...roleRules(), ...(charts ? chartRules() : [])];
  const labels = { 'app.kubernetes.io/name': 'davit' };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace, labels } },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name, labels }, rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name, labels },
      roleRef,
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
    scaleTargetDefinition,
  ];
}
