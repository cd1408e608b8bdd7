import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as cluster from './cluster.ts';
import * as deployment from './deployment.ts';
import * as kubeconfig from './kubeconfig.ts';
import * as kubernetes from './kubernetes.ts';
import * as lock from './lock.ts';
import * as settings from './settings.ts';
import * as status from './status.ts';

export function mountCluster(mounting: Mounting, deps: Needs<'database' | 'engine' | 'vault' | 'catalogue'>): void {
  mounting
    .on(operations.listOrganizationCluster, ({ caller, params }) => cluster.listClusters(deps, caller, params.organizationId))
    .on(operations.createCluster, ({ caller, params, body }) => cluster.createCluster(deps, caller, params.organizationId, body))
    .on(operations.editCluster, ({ caller, params, body }) => cluster.editCluster(deps, caller, params, body))
    .on(operations.deleteCluster, ({ caller, params, query }) => cluster.deleteCluster(deps, caller, params, query.deleteMode))
    .on(operations.getEnvironmentsByClusterId, ({ caller, params }) =>
      cluster.listClusterEnvironments(deps, caller, params.clusterId),
    )
    .on(operations.getOrganizationCloudProviderInfo, ({ caller, params }) => cluster.readProviderInfo(deps, caller, params))
    .on(operations.specifyClusterCloudProviderInfo, ({ caller, params, body }) =>
      cluster.specifyProviderInfo(deps, caller, params, body),
    );
  mountLifecycle(mounting, deps);
  mountSettings(mounting, deps);
  mountKubernetes(mounting, deps);
}

function mountLifecycle(mounting: Mounting, deps: Needs<'database' | 'engine'>): void {
  mounting
    .on(operations.getOrganizationClusterStatus, ({ caller, params }) =>
      status.listClusterStatuses(deps, caller, params.organizationId),
    )
    .on(operations.getClusterStatus, ({ caller, params }) => status.readClusterStatus(deps, caller, params))
    .on(operations.getClusterReadinessStatus, ({ caller, params }) => status.readReadiness(deps, caller, params))
    .on(operations.deployCluster, ({ caller, params, query }) =>
      deployment.deployCluster(deps, caller, params, query.dry_run ?? false),
    )
    .on(operations.stopCluster, ({ caller, params }) => deployment.stopCluster(deps, caller, params))
    .on(operations.upgradeCluster, ({ caller, params }) => deployment.upgradeCluster(deps, caller, params.clusterId))
    .on(operations.listClusterLogs, ({ caller, params }) => deployment.listLogs(deps, caller, params))
    .on(operations.lockCluster, ({ caller, params, body }) => lock.lockCluster(deps, caller, params.clusterId, body))
    .on(operations.unlockCluster, ({ caller, params }) => lock.unlockCluster(deps, caller, params.clusterId))
    .on(operations.listClusterLock, ({ caller, params }) => lock.listClusterLocks(deps, caller, params.organizationId));
}

function mountKubernetes(mounting: Mounting, deps: Needs<'database'>): void {
  mounting
    .on(operations.getClusterKubernetesEvents, ({ caller, params, query }) =>
      kubernetes.readEvents(deps, caller, params.clusterId, query),
    )
    .on(operations.getClusterTokenByClusterId, ({ caller, params }) => kubernetes.readToken(deps, caller, params.clusterId))
    .on(operations.getInstallationHelmValues, ({ caller, params }) => kubernetes.readInstallationValues(deps, caller, params));
}

function mountSettings(mounting: Mounting, deps: Needs<'database' | 'vault'>): void {
  mounting
    .on(operations.getDefaultClusterAdvancedSettings, () => settings.readDefaultSettings())
    .on(operations.getClusterAdvancedSettings, ({ caller, params }) => settings.readSettings(deps, caller, params))
    .on(operations.editClusterAdvancedSettings, ({ caller, params, body }) => settings.editSettings(deps, caller, params, body))
    .on(operations.getClusterKubeconfig, ({ caller, params, query }) =>
      kubeconfig.readKubeconfig(deps, caller, params, { withTokenFromCli: query.with_token_from_cli ?? false }),
    )
    .on(operations.editClusterKubeconfig, ({ caller, params, body }) => kubeconfig.editKubeconfig(deps, caller, params, body))
    .on(operations.getRoutingTable, ({ caller, params }) => settings.readRoutes(deps, caller, params))
    .on(operations.editRoutingTable, ({ caller, params, body }) => settings.editRoutes(deps, caller, params, body));
}
