import type { Caller } from '../recorder.ts';
import type { ShopServer } from '../shop.ts';

const kubeconfig = `apiVersion: v1
kind: Config
current-context: rack
clusters:
  - {name: rack, cluster: {server: "https://rack.example.org:6443"}}
contexts:
  - {name: rack, context: {cluster: rack, user: davit}}
users:
  - {name: davit, user: {token: "<token of the service account>"}}
`;

/** The Kubernetes cluster of the shop, and one at a vendor that is recorded only. */
export async function clusters({ recorder, addressCluster }: ShopServer, api: Caller): Promise<void> {
  const body = { name: 'rack', region: 'Paris', cloud_provider: 'ON_PREMISE', kubernetes: 'SELF_MANAGED' };
  const { id } = await recorder.call(api, 'createCluster', { body: { ...body, description: 'Two machines in the cellar' } });
  recorder.ids = { ...recorder.ids, clusterId: id };
  addressCluster(id, 'https://rack.example.org');
  await recorder.call(api, 'editClusterKubeconfig', { body: kubeconfig });
  await recorder.call(api, 'getClusterKubeconfig');
  await recorder.call(api, 'deployCluster');
  await recorder.call(api, 'editCluster', { body: { ...body, production: true } });
  await recorder.call(api, 'listOrganizationCluster');
  await recorder.call(api, 'getClusterStatus');
  await recorder.call(api, 'getOrganizationClusterStatus');
  await recorder.call(api, 'getClusterReadinessStatus');
  await recorder.call(api, 'getClusterAdvancedSettings');
  await recorder.call(api, 'editClusterAdvancedSettings', { body: {} });
  await recorder.call(api, 'lockCluster', { body: { reason: 'The network is being changed', ttl_in_days: 1 } });
  await recorder.call(api, 'listClusterLock');
  await recorder.call(api, 'unlockCluster');
  await vendorCluster();

  async function vendorCluster(): Promise<void> {
    const managed = { name: 'cloud', region: 'eu-west-3', cloud_provider: 'AWS' };
    const params = { clusterId: (await recorder.prepare(api, 'createCluster', { body: managed })).id };
    const { credentialsId = '' } = recorder.ids;
    const account = { cloud_provider: 'AWS', credentials: { id: credentialsId }, region: 'eu-west-3' };
    await recorder.call(api, 'specifyClusterCloudProviderInfo', { params, body: account });
    await recorder.call(api, 'getOrganizationCloudProviderInfo', { params });
    const routes = [{ destination: '10.1.0.0/16', target: 'gateway', description: 'To the office' }];
    await recorder.call(api, 'editRoutingTable', { params, body: { routes } });
    await recorder.call(api, 'getRoutingTable', { params });
    // These are refused for every cluster, see refusals.ts of the contract.
    const query = { from_date_time: '2026-01-05T08:00:00Z', to_date_time: '2026-01-05T09:00:00Z' };
    await recorder.call(api, 'getClusterKubernetesEvents', { params, query, refusal: 409 });
    await recorder.call(api, 'getClusterTokenByClusterId', { params, refusal: 409 });
    await recorder.call(api, 'getInstallationHelmValues', { params, refusal: 409 });
    await recorder.call(api, 'deleteCluster', { params });
  }
}

/** Reads and upgrades the cluster while staging runs on it. */
export async function clusterInUse({ recorder }: ShopServer, api: Caller): Promise<void> {
  await recorder.call(api, 'getEnvironmentsByClusterId');
  await recorder.call(api, 'stopCluster', { refusal: 409 });
  await recorder.call(api, 'upgradeCluster');
  await recorder.call(api, 'listClusterLogs');
}
