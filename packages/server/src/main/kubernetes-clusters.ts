import type { ClusterBuilder, ClusterDriver } from '@davit/drivers';
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
    const settings = toDriverSettings(own, clusterDoor(clusterSettings, id));
    // What the record says is not enough: whoever could write there would be let onto the cluster of Davit itself.
    const isOwn = clustersOfServiceAccount(clusterSettings).includes(id);
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
    return {
      cluster: lateKubernetes(open),
      ...(registryId !== undefined && { imageRegistry: { id: registryId, folder } }),
      ...(builds === 'cluster' && { clusterBuilder: lateBuilder(open, toBuildSettings(own)) }),
      close: () => closed.abort(),
    };
  };
}

function lateKubernetes(open: (signal: AbortSignal) => Promise<KubernetesDriver>): ClusterDriver {
  return {
    ...lateCluster('kubernetes', open),
    routes: {
      apply: async (served, signal) => (await open(signal)).routes.apply(served, signal),
      remove: async (owner, signal) => (await open(signal)).routes.remove(owner, signal),
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
