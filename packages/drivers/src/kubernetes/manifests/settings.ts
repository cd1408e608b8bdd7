import type { BuildLimits } from '../../image-builder.ts';

/** What is the same for all that runs on a cluster. */
export interface ClusterSettings {
  /**
   * Pod Security level that namespaces enforce. `baseline`: processes start as the user of their image, root included, with the
   * capabilities that images such as nginx or postgres need to give up root. `restricted`: they must not be root; an image that is
   * fails with RUN_AS_ROOT.
   */
  readonly podSecurity: 'baseline' | 'restricted';
  /** Of claims; null: the cluster's default. */
  readonly storageClass: string | null;
  /** Who may connect to instances besides those of the same environment, as an ingress controller must. */
  readonly sources: {
    /** Names of namespaces. */
    readonly namespaces: readonly string[];
    /** Networks as `10.0.0.0/8`. */
    readonly networks: readonly string[];
  };
  /** `ingressClassName` of routes; null: the cluster's default. */
  readonly ingressClass: string | null;
  /** The Gateway that routes are attached to, in place of Ingresses; null: there are Ingresses. */
  readonly gateway: GatewayName | null;
  /** Who makes the certificates of Ingresses; null: nobody, they have those of the ingress controller. */
  readonly certificates: CertificateSettings | null;
  /**
   * An image with `sh` and `tar`. Beside a workload that runs once it holds its `folders`, which are read after the process has ended.
   */
  readonly helperImage: string;
  /**
   * Seconds between taking an instance out of its addresses and SIGTERM: until then proxies may still send requests. Needs
   * Kubernetes 1.30.
   */
  readonly lingerSeconds: number;
  /** Whether charts that ask for it are installed with Davit's own account, so that they may make what is in no namespace. */
  readonly clusterWideCharts: boolean;
  /** How images are built on the cluster itself. */
  readonly builds: BuildSettings;
  /** The version that the cluster is to be upgraded to, as `v1.36.2+k3s1`; null: its owner does that. */
  readonly kubernetesVersion: string | null;
}

export interface BuildSettings {
  /** An image with BuildKit (`buildkitd`, `buildctl`), `sh` and `tar`; null: the one of BuildKit's makers that fits the isolation. */
  readonly image: string | null;
  /** What keeps a build from its node: see docs/adr/0024. */
  readonly isolation: BuildIsolation;
  /** What a build may use at most, of processors and memory. */
  readonly limits: BuildLimits;
  /** What a build may write: layers, caches, and the files of the repository once more. */
  readonly diskGiB: number;
  /** Registries that speak http, as `registry.example.org:5000`. */
  readonly plainRegistries: readonly string[];
}

/**
 * `rootless`: BuildKit runs as user 1000 and makes a user namespace itself. `user_namespace`: the kubelet makes it (Kubernetes 1.33).
 * `privileged`: none, a command that breaks out is root on the node.
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
  /** Names below this domain have the ingress controller's certificate for all of them; null: there is no such one. */
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

/** What a cluster can do, found out when it is opened. */
export interface ClusterTraits {
  /** Whether a container may be made to wait before SIGTERM without a program of its own (Kubernetes 1.30). */
  readonly canLinger: boolean;
  /** Whether the profile of AppArmor is a field of a container, so that images can be built there (Kubernetes 1.30). */
  readonly canBuild: boolean;
  /** Whether a container can end with the others of its pod (Kubernetes 1.29). */
  readonly hasSidecars: boolean;
}

/** The seconds that instances linger on this cluster. */
export function lingerSeconds(settings: ClusterSettings, traits: ClusterTraits): number {
  return traits.canLinger ? settings.lingerSeconds : 0;
}
