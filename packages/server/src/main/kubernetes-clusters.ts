import {
  ClusterTerraform,
  defaultTerraformImages,
  type ClusterBuilder,
  type ClusterCharts,
  type ClusterDriver,
  type ClusterUpgrades,
} from '@davit/drivers';
import type { BuildSettings, ClusterSettings, KubernetesDriver } from '@davit/drivers/kubernetes';
import type { ClusterMaker } from '@davit/engine';
import {
  clusterDoor,
  clustersOfServiceAccount,
  settingsOf,
  type FrontDoor,
  type OneClusterSettings,
} from '../cluster-settings.ts';
import type { Configuration } from './config.ts';
import { forever, lateCluster, rememberSuccess } from './late-cluster.ts';

/**
 * Makes what Kubernetes clusters are worked with. They bring images and lead requests by themselves, so there is neither builder nor
 * gateway; what is built for them comes to them by way of a registry. The code for them is loaded with the first one: most installations have none.
 */
export function kubernetesClusters(
  { clusterSettings, localEngine }: Pick<Configuration, 'clusterSettings' | 'localEngine'>,
  installation: string,
): ClusterMaker {
  return ({ id, kubeconfig }) => {
    const own = settingsOf(clusterSettings, id);
    // What the record says is not enough: whoever could write there would be let onto the cluster of Davit itself.
    const isOwn = clustersOfServiceAccount(clusterSettings).includes(id);
    const settings = {
      ...toDriverSettings(own, clusterDoor(clusterSettings, id)),
      // There Davit's own account sees Davit's own secrets.
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
    const { image_registry: registryId, image_folder: folder = 'davit' } = own;
    const builds = own.builds ?? (localEngine ? 'engine' : 'cluster');
    const terraform = terraformOf(own);
    return {
      cluster: lateKubernetes(open, settings.kubernetesVersion !== undefined),
      ...(terraform !== null && { terraform }),
      ...(registryId !== undefined && { imageRegistry: { id: registryId, folder } }),
      ...(builds === 'cluster' && { clusterBuilder: lateBuilder(open, toBuildSettings(own)) }),
      close: () => closed.abort(),
    };
  };
}

function lateKubernetes(open: (signal: AbortSignal) => Promise<KubernetesDriver>, canUpgrade: boolean): ClusterDriver {
  const upgrades = async (signal: AbortSignal): Promise<ClusterUpgrades> => {
    const driver = await open(signal);
    if (driver.upgrades === undefined) throw new Error('a driver with a version to upgrade to has the power to');
    return driver.upgrades;
  };
  return {
    ...lateCluster('kubernetes', open),
    routes: {
      apply: async (served, signal) => (await open(signal)).routes.apply(served, signal),
      remove: async (owner, signal) => (await open(signal)).routes.remove(owner, signal),
    },
    scaling: {
      missing: async (by, signal) => (await open(signal)).scaling.missing(by, signal),
      apply: async (scaled, signal) => (await open(signal)).scaling.apply(scaled, signal),
      remove: async (owner, signal) => (await open(signal)).scaling.remove(owner, signal),
      wanted: async (signal) => (await open(signal)).scaling.wanted(signal),
      report: async (owner, running, signal) => (await open(signal)).scaling.report(owner, running, signal),
      watch: async (onChange, signal) => (await open(signal)).scaling.watch(onChange, signal),
    },
    charts: lateCharts(async (signal) => (await open(signal)).charts),
    ...(canUpgrade && {
      upgrades: {
        state: async (signal) => (await upgrades(signal)).state(signal),
        begin: async (version, signal) => (await upgrades(signal)).begin(version, signal),
      },
    }),
    schedules: {
      unable: async (schedule, signal) => (await open(signal)).schedules.unable(schedule, signal),
      apply: async (schedule, options, call) => (await open(call.signal)).schedules.apply(schedule, options, call),
      suspend: async (owner, signal) => (await open(signal)).schedules.suspend(owner, signal),
      resume: async (schedule, signal) => (await open(signal)).schedules.resume(schedule, signal),
      remove: async (owner, signal) => (await open(signal)).schedules.remove(owner, signal),
      list: async (signal) => (await open(signal)).schedules.list(signal),
      runs: async (selector, signal) => (await open(signal)).schedules.runs(selector, signal),
      awaitStarted: async (workload, call) => (await open(call.signal)).schedules.awaitStarted(workload, call),
    },
    missingPermissions: async (signal) => (await open(signal)).missingPermissions(signal),
  };
}

function lateBuilder(open: (signal: AbortSignal) => Promise<KubernetesDriver>, { limits }: BuildSettings): ClusterBuilder {
  return {
    limits,
    declaredArguments: async (source) => (await open(forever)).builder.declaredArguments(source),
    build: async (request, context) => (await open(context.signal)).builder.build(request, context),
  };
}

/** null: its pods reach no API of Davit that could serve them their state. */
function terraformOf(own: OneClusterSettings): ((cluster: ClusterDriver) => ClusterTerraform) | null {
  const { davit_address: address } = own;
  if (address === undefined) return null;
  const images = {
    TERRAFORM: own.terraform_image ?? defaultTerraformImages.TERRAFORM,
    OPEN_TOFU: own.opentofu_image ?? defaultTerraformImages.OPEN_TOFU,
  };
  return (cluster) => new ClusterTerraform({ cluster, address, images });
}

function lateCharts(open: (signal: AbortSignal) => Promise<ClusterCharts>): ClusterCharts {
  return {
    access: async (owner, wish, signal) => (await open(signal)).access(owner, wish, signal),
    outside: async (owner, objects, signal) => (await open(signal)).outside(owner, objects, signal),
    revisions: async (place, signal) => (await open(signal)).revisions(place, signal),
    whileWatched: async (place, objects, work, context) =>
      (await open(context.signal)).whileWatched(place, objects, work, context),
    stop: async (place, context) => (await open(context.signal)).stop(place, context),
    wake: async (place, objects, seconds, signal) => (await open(signal)).wake(place, objects, seconds, signal),
    releaseClaims: async (place, signal) => (await open(signal)).releaseClaims(place, signal),
    services: async (place, signal) => (await open(signal)).services(place, signal),
    state: async (place, signal) => (await open(signal)).state(place, signal),
  };
}

function toDriverSettings(own: OneClusterSettings, door: FrontDoor | null): Partial<ClusterSettings> {
  return {
    ...(own.pod_security !== undefined && { podSecurity: own.pod_security }),
    ...(own.storage_class !== undefined && { storageClass: own.storage_class }),
    ...(own.certificate_issuer !== undefined && {
      certificates: { issuer: own.certificate_issuer, wildcardDomain: door?.scheme === 'https' ? door.domain : null },
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
