import type { CustomResourceDefinition } from 'kubernetes-types/apiextensions/v1.js';
import type { Namespace, ServiceAccount } from 'kubernetes-types/core/v1.js';
import type { ClusterRole, ClusterRoleBinding, PolicyRule } from 'kubernetes-types/rbac/v1.js';
import { scaleTargetDefinition } from '../manifests/scale-target.ts';
import { permissions } from './permissions.ts';

/** How the objects are called that let Davit work on a cluster. */
export interface RoleNames {
  /** Namespace of the service account. */
  readonly namespace: string;
  /** Of service account, role and binding. */
  readonly name: string;
}

type RoleObject = Namespace | CustomResourceDefinition | ServiceAccount | ClusterRole | ClusterRoleBinding;

/** The least that Davit needs on a cluster, as a role's rules. */
export function roleRules(): PolicyRule[] {
  return permissions.map(({ group, resource, verbs }) => ({ apiGroups: [group], resources: [resource], verbs: [...verbs] }));
}

/**
 * What Davit needs besides where charts of Helm are deployed: to make, in the namespaces of environments, an account that may do there what the
 * role `admin` of every cluster says. To bind that role it need not be allowed itself what the role says.
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
 * What an operator applies so that Davit can work on a cluster: a service account that may do `permissions`, and nothing else, and the kind of
 * object by which the cluster says how many instances there should be; with `charts` also what those need.
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
