import { call, closeApi, openApi } from '../../packages/drivers/src/kubernetes/client/api.ts';
import { roleObjects } from '../../packages/drivers/src/kubernetes/index.ts';
import { readKubeconfig } from '../../packages/drivers/src/kubernetes/client/kubeconfig.ts';

const signal = new AbortController().signal;
const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** Creates the account of `davit cluster manifest --charts` on a cluster, with a token that is valid for one hour. */
export async function makeAccount(
  kubeconfig: string,
  installation: string,
): Promise<{ readonly token: string; remove(): Promise<void> }> {
  const api = openApi(readKubeconfig(kubeconfig));
  const name = `davit-test-${installation.slice(0, 8)}`;
  const paths: Readonly<Record<string, string>> = {
    Namespace: `/api/v1/namespaces/${name}`,
    ServiceAccount: `/api/v1/namespaces/${name}/serviceaccounts/${name}`,
    ClusterRole: `${rbac}/clusterroles/${name}`,
    ClusterRoleBinding: `${rbac}/clusterrolebindings/${name}`,
  };
  for (const body of roleObjects({ namespace: name, name }, { charts: true })) {
    const query = { fieldManager: 'test', force: 'true' };
    const path = paths[body.kind ?? ''] ?? '';
    await call(api, { method: 'PATCH', path, query, body, contentType: 'application/apply-patch+yaml', signal });
  }
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
  const path = `${paths['ServiceAccount']}/token`;
  const made = await call<{ status?: { token?: string } }>(api, { method: 'POST', path, body, signal });
  return {
    token: made.body.status?.token ?? '',
    remove: async () => {
      const kinds = ['ClusterRoleBinding', 'ClusterRole', 'Namespace'];
      for (const kind of kinds) await call(api, { method: 'DELETE', path: paths[kind] ?? '', signal, accept: [404] });
      closeApi(api);
    },
  };
}
