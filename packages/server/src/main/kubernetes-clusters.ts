import {
  proxyBuilder,
  proxyCharts,
  ClusterTerraform,
  defaultTerraformImages,
  proxyHealth,
  proxyRoutes,
  proxyScaling,
  proxySchedules,
  proxyUpgrades,
  type ClusterDriver,
  type ClusterUpgrades,
} from '@davit/drivers';
import type { BuildSettings, ClusterSettings, KubernetesDriver } from '@davit/drivers/kubernetes';
import type { ClusterMaker } from '@davit/engine';
import {
  clusterEndpoint,
  clustersOfServiceAccount,
  settingsOf,
  type PublicEndpoint,
  type OneClusterSettings,
} from '../cluster-settings.ts';
import type { Configuration } from '../configuration.ts';
import { late, lateCluster, rememberSuccess } from './late-cluster.ts';

/**
 * Returns the factory for the drivers of Kubernetes clusters. These clusters pull images and route requests themselves,
 * so there is neither a builder nor a gateway; built images reach them through a registry. The Kubernetes code is
 * loaded with the first cluster, since most installations have none.
 */
export function kubernetesClusters(
  { clusterSettings, localEngine }: Pick<Configuration, 'clusterSettings' | 'localEngine'>,
  installation: string,
): ClusterMaker {
  return ({ id, kubeconfig }) => {
    const own = settingsOf(clusterSettings, id);
    // Only the configuration decides, not the cluster's record: otherwise, anybody who can write the record would get
    // access to Davit's own cluster.
    const isOwn = clustersOfServiceAccount(clusterSettings).includes(id);
    const settings = {
      ...toDriverSettings(own, clusterEndpoint(clusterSettings, id)),
      // On its own cluster, Davit's service account can read Davit's own secrets.
      clusterWideCharts: (isOwn ? clusterSettings[id] : own)?.cluster_wide_charts ?? !isOwn,
    };
    const closed = new AbortController();
    const open = rememberSuccess(async (signal: AbortSignal): Promise<KubernetesDriver> => {
      const { openKubernetesDriver } = await import('@davit/drivers/kubernetes');
      const within = AbortSignal.any([signal, closed.signal]);
      const driver = await openKubernetesDriver(
        { kubeconfig: isOwn ? null : kubeconfig.reveal(), installation, settings },
        within,
      );
      closed.signal.addEventListener('abort', () => driver.close(), { once: true });
      if (closed.signal.aborted) driver.close();
      return driver;
    });
    const { image_registry: registryId, image_pull_registry: pullId = registryId, image_folder: folder = 'davit' } = own;
    const builds = own.builds ?? (localEngine ? 'engine' : 'cluster');
    const terraform = terraformOf(own);
    return {
      cluster: lateKubernetes(open, settings.kubernetesVersion !== undefined),
      ...(terraform !== null && { terraform }),
      ...(registryId !== undefined && { imageRegistry: { id: registryId, pullId: pullId ?? registryId, folder } }),
      ...(builds === 'cluster' && {
        clusterBuilder: proxyBuilder(
          toBuildSettings(own),
          late(async (signal) => (await open(signal)).builder),
        ),
      }),
      close: () => closed.abort(),
    };
  };
}

function lateKubernetes(open: (signal: AbortSignal) => Promise<KubernetesDriver>, canUpgrade: boolean): ClusterDriver {
  const upgrades = async (signal: AbortSignal): Promise<ClusterUpgrades> => {
    const driver = await open(signal);
    if (driver.upgrades === undefined) throw new Error('a driver with a version to upgrade to has the capability to');
    return driver.upgrades;
  };
  return {
    ...lateCluster('kubernetes', open),
    health: proxyHealth(late(async (signal) => (await open(signal)).health)),
    routes: proxyRoutes(late(async (signal) => (await open(signal)).routes)),
    scaling: proxyScaling(late(async (signal) => (await open(signal)).scaling)),
    schedules: proxySchedules(late(async (signal) => (await open(signal)).schedules)),
    charts: proxyCharts(late(async (signal) => (await open(signal)).charts)),
    ...(canUpgrade && { upgrades: proxyUpgrades(late(upgrades)) }),
    missingPermissions: async (signal) => (await open(signal)).missingPermissions(signal),
    identity: async (signal) => (await open(signal)).identity(signal),
  };
}

/** Returns null if the cluster's pods cannot reach an API of Davit that serves their Terraform state. */
function terraformOf(own: OneClusterSettings): ((cluster: ClusterDriver) => ClusterTerraform) | null {
  const { davit_address: address } = own;
  if (address === undefined) return null;
  const images = {
    TERRAFORM: own.terraform_image ?? defaultTerraformImages.TERRAFORM,
    OPEN_TOFU: own.opentofu_image ?? defaultTerraformImages.OPEN_TOFU,
  };
  return (cluster) => new ClusterTerraform({ cluster, address, images });
}

function toDriverSettings(own: OneClusterSettings, endpoint: PublicEndpoint | null): Partial<ClusterSettings> {
  return {
    ...(own.pod_security !== undefined && { podSecurity: own.pod_security }),
    ...(own.storage_class !== undefined && { storageClass: own.storage_class }),
    ...(own.certificate_issuer !== undefined && {
      certificates: { issuer: own.certificate_issuer, wildcardDomain: endpoint?.scheme === 'https' ? endpoint.domain : null },
    }),
    ...(own.gateway !== undefined && { gateway: toGatewayName(own.gateway) }),
    ...(own.ingress_class !== undefined && { ingressClass: own.ingress_class }),
    ...(own.helper_image !== undefined && { helperImage: own.helper_image }),
    ...(own.linger_seconds !== undefined && { lingerSeconds: own.linger_seconds }),
    builds: toBuildSettings(own),
    ...(own.kubernetes_version !== undefined && { kubernetesVersion: own.kubernetes_version }),
    sources: { namespaces: own.source_namespaces ?? [], networks: own.source_networks ?? [] },
  };
}

function toBuildSettings(own: OneClusterSettings): BuildSettings {
  return {
    image: own.builder_image ?? null,
    isolation: own.build_isolation ?? 'rootless',
    limits: { cpuMillicores: own.build_cpu_millicores ?? 2_000, memoryMiB: own.build_memory_mib ?? 2_048 },
    diskGiB: own.build_disk_gib ?? 20,
    plainRegistries: own.http_registries ?? [],
  };
}

function toGatewayName(text: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = text.split('/');
  return { namespace, name };
}
