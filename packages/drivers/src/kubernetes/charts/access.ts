import { abortablePause, Sensitive } from '@davit/base';
import type { ServiceAccount } from 'kubernetes-types/core/v1.js';
import type { RoleBinding } from 'kubernetes-types/rbac/v1.js';
import { DriverError } from '../../errors.ts';
import type { ChartAccess, ChartAccessRequest } from '../../helm-driver.ts';
import type { Ownership } from '../../workload.ts';
import { call, closeApi, openApi } from '../client/api.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import type { ClusterAccess } from '../client/kubeconfig.ts';
import { ensureNamespace } from '../client/namespace.ts';
import { apply, pathOf } from '../client/objects.ts';
import { toNamespace, toNetworkPolicy } from '../manifests/environment.ts';
import { environmentLabels } from '../names/labels.ts';
import { namespaceName } from '../names/names.ts';

/*
 * The templates of a chart are third-party programs: they read objects of the cluster (`lookup`) and create whatever
 * they like. So Helm does not use Davit's own account, which can read the secrets of all environments. Helm uses an
 * account that may do everything inside of the namespace of the chart's environment and nothing elsewhere
 * (docs/adr/0027).
 */

const account = 'davit-charts';
/** Every cluster has this role. Operators of custom kinds add rules to it. */
const role = 'admin';
/** The API server refuses shorter lifetimes of tokens. */
const minSeconds = 600;
const marginSeconds = 300;
const graceMilliseconds = 15_000;
const lookAgainMilliseconds = 200;

/** See `ClusterCharts.access`. */
export async function makeAccess(
  scope: ClusterScope,
  owner: Ownership,
  access: ChartAccessRequest,
  signal: AbortSignal,
): Promise<ChartAccess> {
  const namespace = namespaceName(owner.installation, owner.environment);
  await ensureNamespace(scope, toNamespace(owner, scope.settings), signal);
  await apply(scope, toNetworkPolicy(owner, scope.settings), signal);
  if (access.isClusterWide) {
    if (!scope.settings.clusterWideCharts && !access.takesBack) throw notClusterWide();
    return { namespace, kubeconfig: toKubeconfig(scope.api.access, {}) };
  }
  const { serviceAccount, binding } = accountObjects(owner, namespace);
  await apply(scope, serviceAccount, signal);
  await apply(scope, binding, signal);
  const token = await makeToken(scope, namespace, access.seconds, signal);
  await untilNoticed(scope, { namespace, token }, signal);
  return { namespace, kubeconfig: toKubeconfig(scope.api.access, { token }) };
}

function notClusterWide(): DriverError {
  return new DriverError({
    cause: 'HELM_OUTSIDE_ENVIRONMENT',
    message:
      'allow_cluster_wide_resources is set, but the operator of this cluster does not grant charts the permissions of Davit',
    hint: 'Unset it; or have the operator set cluster_wide_charts for the cluster (docs/helm.md explains what that means).',
  });
}

function accountObjects(owner: Ownership, namespace: string): { serviceAccount: ServiceAccount; binding: RoleBinding } {
  const metadata = { name: account, namespace, labels: environmentLabels(owner, 'account') };
  return {
    // Pods that use this account get no token automatically.
    serviceAccount: { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
    binding: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
    },
  };
}

async function makeToken({ api }: ClusterScope, namespace: string, seconds: number, signal: AbortSignal): Promise<string> {
  const { body } = await call<{ readonly status?: { readonly token?: string } }>(api, {
    method: 'POST',
    path: `${pathOf('ServiceAccount', { namespace, name: account })}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: Math.max(minSeconds, seconds + marginSeconds) },
    },
    signal,
  });
  return body.status?.token ?? '';
}

/**
 * Waits until a new binding is effective. Not all API servers know it at once: without the wait, a release would start
 * and break in its middle.
 */
async function untilNoticed(
  { api: { access } }: ClusterScope,
  { namespace, token }: { readonly namespace: string; readonly token: string },
  signal: AbortSignal,
): Promise<void> {
  const { server, isUnchecked, authority, serverName } = access;
  const api = openApi({
    server,
    isUnchecked,
    token,
    ...(authority !== undefined && { authority }),
    ...(serverName !== undefined && { serverName }),
  });
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { group: '', resource: 'secrets', verb: 'create', namespace } },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const until = Date.now() + graceMilliseconds;
  try {
    for (;;) {
      const review = await call<{ readonly status?: { readonly allowed?: boolean } }>(api, {
        method: 'POST',
        path,
        body,
        signal,
      });
      // If this takes longer, Helm's own message says what Helm may not do.
      if (review.body.status?.allowed === true || Date.now() > until) return;
      await abortablePause(lookAgainMilliseconds, signal);
    }
  } finally {
    closeApi(api);
  }
}

/** The kubeconfig contains nothing that makes Helm run a program or read another file. */
function toKubeconfig(access: ClusterAccess, { token }: { readonly token?: string }): Sensitive {
  const data = (name: string, text: string | undefined): Record<string, string> =>
    text === undefined ? {} : { [name]: Buffer.from(text).toString('base64') };
  const cluster = {
    server: access.server,
    ...(access.serverName !== undefined && { 'tls-server-name': access.serverName }),
    ...(access.isUnchecked ? { 'insecure-skip-tls-verify': true } : data('certificate-authority-data', access.authority)),
  };
  const own = {
    ...(access.token !== undefined && { token: access.token }),
    ...(access.basic !== undefined && access.basic),
    ...data('client-certificate-data', access.certificate),
    ...data('client-key-data', access.key),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'davit',
    contexts: [{ name: 'davit', context: { cluster: 'davit', user: 'davit' } }],
    clusters: [{ name: 'davit', cluster }],
    users: [{ name: 'davit', user: token === undefined ? own : { token } }],
  };
  return new Sensitive(JSON.stringify(config));
}
