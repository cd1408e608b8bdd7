import type { BuildLimits } from '../../image-builder.ts';

/** Settings for everything that runs on a cluster. */
export interface ClusterSettings {
  /**
   * Pod Security level that namespaces enforce.
   * - `baseline`: processes start as the user of their image, root included, with the capabilities that images such as
   *   nginx or postgres need to give up root.
   * - `restricted`: processes must not be root. An image that runs as root fails with RUN_AS_ROOT.
   */
  readonly podSecurity: 'baseline' | 'restricted';
  /** Storage class of claims, or null for the cluster's default. */
  readonly storageClass: string | null;
  /** Sources besides the same environment that may connect to instances, such as an ingress controller. */
  readonly sources: {
    /** Names of namespaces. */
    readonly namespaces: readonly string[];
    /** Networks in the form `10.0.0.0/8`. */
    readonly networks: readonly string[];
  };
  /** `ingressClassName` of routes, or null for the cluster's default. */
  readonly ingressClass: string | null;
  /** The Gateway to which routes are attached, in place of Ingresses. If null, Ingresses are used. */
  readonly gateway: GatewayName | null;
  /** Issuer of the certificates of Ingresses. If null, the certificates of the ingress controller are used. */
  readonly certificates: CertificateSettings | null;
  /**
   * An image with `sh` and `tar`. Beside a workload that runs once, it holds the workload's `folders`, which are read
   * after the process has ended.
   */
  readonly helperImage: string;
  /**
   * Seconds between the removal of an instance from its addresses and SIGTERM. Proxies may still send requests until
   * then. Needs Kubernetes 1.30.
   */
  readonly lingerSeconds: number;
  /**
   * Whether charts that ask for it are installed with Davit's own account, so that they can create cluster-scoped
   * objects.
   */
  readonly clusterWideCharts: boolean;
  /** Settings for builds of images on the cluster itself. */
  readonly builds: BuildSettings;
  /**
   * The version to which the cluster shall be upgraded, such as `v1.36.2+k3s1`. If null, the owner upgrades the
   * cluster.
   */
  readonly kubernetesVersion: string | null;
}

export interface BuildSettings {
  /**
   * An image with BuildKit (`buildkitd`, `buildctl`), `sh` and `tar`. If null, the image of BuildKit's makers that fits
   * the isolation is used.
   */
  readonly image: string | null;
  /** Isolation of a build from its node. See docs/adr/0024. */
  readonly isolation: BuildIsolation;
  /** Limits of processors and memory for a build. */
  readonly limits: BuildLimits;
  /** Disk space for a build: layers, caches, and a second copy of the repository's files. */
  readonly diskGiB: number;
  /** Registries that use http, such as `registry.example.org:5000`. */
  readonly plainRegistries: readonly string[];
}

/**
 * How a build is isolated from its node.
 * - `rootless`: BuildKit runs as user 1000 and creates a user namespace itself.
 * - `user_namespace`: the kubelet creates the user namespace (Kubernetes 1.33).
 * - `privileged`: no isolation. A command that breaks out is root on the node.
 */
export type BuildIsolation = 'rootless' | 'user_namespace' | 'privileged';

/** A Gateway of the Gateway API. */
export interface GatewayName {
  readonly namespace: string;
  readonly name: string;
}

export interface CertificateSettings {
  /** Name of a ClusterIssuer of cert-manager. */
  readonly issuer: string;
  /**
   * Names below this domain use the ingress controller's wildcard certificate. Null if there is no such certificate.
   */
  readonly wildcardDomain: string | null;
}

export const defaultSettings: ClusterSettings = {
  podSecurity: 'baseline',
  storageClass: null,
  sources: { namespaces: [], networks: [] },
  ingressClass: null,
  gateway: null,
  certificates: null,
  helperImage: 'docker.io/library/busybox:1.37',
  lingerSeconds: 5,
  clusterWideCharts: true,
  builds: {
    image: null,
    isolation: 'rootless',
    limits: { cpuMillicores: 2_000, memoryMiB: 2_048 },
    diskGiB: 20,
    plainRegistries: [],
  },
  kubernetesVersion: null,
};

/** Capabilities of a cluster, detected when it is opened. */
export interface ClusterTraits {
  /** Whether a container can wait before SIGTERM without a program of its own (Kubernetes 1.30). */
  readonly canLinger: boolean;
  /**
   * Whether the AppArmor profile is a field of a container, so that images can be built on the cluster (Kubernetes
   * 1.30).
   */
  readonly canBuild: boolean;
  /** Whether a container can end with the other containers of its pod (Kubernetes 1.29). */
  readonly hasSidecars: boolean;
}

/** Returns the seconds for which instances linger on this cluster. */
export function lingerSeconds(settings: ClusterSettings, traits: ClusterTraits): number {
  return traits.canLinger ? settings.lingerSeconds : 0;
}
