import { inParallel } from '@davit/base';
import { call, type Api } from '../client/api.ts';
import { translated } from '../client/refusals.ts';

export interface Permission {
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /**
   * Without an optional permission one feature is missing (its API may not exist at all), and everything else works.
   */
  readonly isOptional?: boolean;
}

const made = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
const applied = made.filter((verb) => verb !== 'watch');

/**
 * All permissions that Davit uses on a cluster. They apply to all namespaces, because Davit creates those of the
 * environments itself. `davit cluster manifest` prints them as a role, and docs/kubernetes.md and the chart show them.
 * Tests keep all of these equal.
 */
export const permissions: readonly Permission[] = [
  { group: '', resource: 'namespaces', verbs: ['get', 'create', 'patch', 'delete'] },
  { group: '', resource: 'nodes', verbs: ['list'] },
  { group: '', resource: 'secrets', verbs: ['get', 'list', 'create', 'patch', 'delete'] },
  { group: '', resource: 'services', verbs: ['get', 'list', 'create', 'patch', 'delete'] },
  { group: '', resource: 'persistentvolumeclaims', verbs: ['get', 'list', 'create', 'patch', 'delete'] },
  { group: '', resource: 'pods', verbs: ['get', 'list', 'watch', 'delete'] },
  { group: '', resource: 'pods/log', verbs: ['get'] },
  { group: '', resource: 'pods/exec', verbs: ['get', 'create'] },
  { group: '', resource: 'events', verbs: ['list', 'watch'] },
  { group: 'apps', resource: 'deployments', verbs: applied },
  { group: 'apps', resource: 'statefulsets', verbs: applied },
  { group: 'apps', resource: 'replicasets', verbs: ['list', 'delete'] },
  { group: 'batch', resource: 'jobs', verbs: applied },
  { group: 'batch', resource: 'cronjobs', verbs: ['get', 'list', 'create', 'patch', 'delete'], isOptional: true },
  { group: 'networking.k8s.io', resource: 'networkpolicies', verbs: ['get', 'create', 'patch'] },
  { group: 'networking.k8s.io', resource: 'ingresses', verbs: ['get', 'list', 'create', 'patch', 'delete'] },
  {
    group: 'gateway.networking.k8s.io',
    resource: 'httproutes',
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
    isOptional: true,
  },
  { group: 'policy', resource: 'poddisruptionbudgets', verbs: ['get', 'list', 'create', 'patch', 'delete'] },
  { group: 'upgrade.cattle.io', resource: 'plans', verbs: ['get', 'create', 'patch'], isOptional: true },
  { group: 'metrics.k8s.io', resource: 'pods', verbs: ['list'], isOptional: true },
  { group: 'davit.dev', resource: 'scaletargets', verbs: made, isOptional: true },
  { group: 'davit.dev', resource: 'scaletargets/status', verbs: ['patch'], isOptional: true },
  { group: 'autoscaling', resource: 'horizontalpodautoscalers', verbs: applied, isOptional: true },
  { group: 'keda.sh', resource: 'scaledobjects', verbs: applied, isOptional: true },
  { group: 'keda.sh', resource: 'triggerauthentications', verbs: applied, isOptional: true },
];

const scalingGroups = { USE: ['davit.dev', 'autoscaling'], EVENTS: ['davit.dev', 'keda.sh'] };

/** Returns the permissions for a cluster that decides on the number of instances, by use or by events. */
export function scalingPermissions(by: keyof typeof scalingGroups): readonly Permission[] {
  return permissions.filter(({ group }) => scalingGroups[by].includes(group));
}

interface Review {
  readonly status?: { readonly allowed?: boolean };
}

/**
 * Returns the required permissions that the credentials lack in all namespaces, as text (`create deployments.apps`).
 * Optional permissions are left out.
 */
export async function missingPermissions(api: Api, signal: AbortSignal): Promise<string[]> {
  return refusedAmong(
    api,
    permissions.filter(({ isOptional }) => isOptional !== true),
    signal,
  );
}

/** Returns those of the needed permissions that the credentials lack in all namespaces, as text. */
export async function refusedAmong(api: Api, needed: readonly Permission[], signal: AbortSignal): Promise<string[]> {
  const requested = needed.flatMap(({ group, resource, verbs }) => verbs.map((verb) => ({ group, resource, verb })));
  try {
    const answers = await inParallel(requested, 8, async (one) => {
      const { group, resource, verb } = one;
      return (await mayDo(api, one, signal)) ? null : `${verb} ${resource}${group === '' ? '' : `.${group}`}`;
    });
    return answers.filter((words) => words !== null);
  } catch (error) {
    throw translated(error, 'The permissions of Davit on the cluster could not be read');
  }
}

/** Returns whether the credentials have a permission in all namespaces. */
export async function mayDo(
  api: Api,
  { group, resource: whole, verb }: { readonly group: string; readonly resource: string; readonly verb: string },
  signal: AbortSignal,
): Promise<boolean> {
  const [resource = '', subresource = ''] = whole.split('/', 2);
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { group, resource, subresource, verb } },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  return (await call<Review>(api, { method: 'POST', path, body, signal })).body.status?.allowed === true;
}
