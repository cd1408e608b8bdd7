import { readFileSync } from 'node:fs';
import { type ErrorDetail, isAppError, messageOf } from '@davit/base';
import { parseDocument, type DocumentKind } from './catalogue/document.ts';
import { shape } from './catalogue/schema.ts';

/**
 * An operator's settings of a Kubernetes cluster. A missing setting is taken from the entry `*`, otherwise from the
 * default in `docs/kubernetes.md`.
 */
export interface OneClusterSettings {
  /**
   * Public URL of the ingress controller, such as `https://apps.example.org`: services get host names below it. Left
   * out: services get no host names.
   */
  readonly address?: string;
  /** A Gateway of the Gateway API as `namespace/name`, to which routes are attached instead of Ingresses. */
  readonly gateway?: string;
  readonly ingress_class?: string;
  /**
   * A ClusterIssuer of cert-manager for custom domains; for all host names if there is no wildcard certificate below
   * `address`.
   */
  readonly certificate_issuer?: string;
  readonly storage_class?: string;
  readonly pod_security?: 'baseline' | 'restricted';
  readonly source_namespaces?: readonly string[];
  readonly source_networks?: readonly string[];
  /**
   * Id of the container registry to which images built for the cluster are pushed. Left out: no images are built for
   * it.
   */
  readonly image_registry?: string;
  /**
   * Id of a second record of the same registry, whose user can only read: nodes pull with it. Left out: nodes pull with
   * `image_registry`.
   */
  readonly image_pull_registry?: string;
  /** Prefix of the names of built images. Default: `davit`. */
  readonly image_folder?: string;
  /**
   * Where images for the cluster are built. Left out: by this machine's engine, or on the cluster if this machine has
   * no engine.
   */
  readonly builds?: 'engine' | 'cluster';
  /** Image that contains BuildKit. Left out: the image of the BuildKit project that fits `build_isolation`. */
  readonly builder_image?: string;
  readonly build_isolation?: 'rootless' | 'user_namespace' | 'privileged';
  /** Maximum resources of a build: millicores, MiB and GiB. Defaults: 2000, 2048 and 20. */
  readonly build_cpu_millicores?: number;
  readonly build_memory_mib?: number;
  readonly build_disk_gib?: number;
  /**
   * Registries, in addition to that of `image_registry`, that builds on the cluster access over http, such as
   * `registry.example.org:5000`.
   */
  readonly http_registries?: readonly string[];
  readonly helper_image?: string;
  readonly linger_seconds?: number;
  /** URL at which pods of the cluster reach Davit's API. Left out: Terraform runs on Davit's machine. */
  readonly davit_address?: string;
  readonly terraform_image?: string;
  readonly opentofu_image?: string;
  /**
   * Whether charts that request it may be installed with Davit's own service account. Default: yes, except on the
   * cluster where Davit itself runs; for that cluster, `*` is ignored.
   */
  readonly cluster_wide_charts?: boolean;
  /**
   * Target version of upgrades, such as `v1.36.2+k3s1`. Not allowed in `*`. Left out: the owner of the cluster upgrades
   * it.
   */
  readonly kubernetes_version?: string;
  /**
   * Whether Davit itself runs on this cluster, and accesses it with the service account of its pods. Not allowed in
   * `*`.
   */
  readonly in_cluster?: boolean;
}

/** Settings by cluster id; `*` applies to all clusters, and has no address. */
export type ClusterSettingsTable = Readonly<Record<string, OneClusterSettings>>;

const name = { type: 'string', pattern: '^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$' };
const uuid = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
const members = {
  address: { type: 'string', maxLength: 200 },
  gateway: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$' },
  ingress_class: name,
  certificate_issuer: name,
  storage_class: name,
  pod_security: { type: 'string', enum: ['baseline', 'restricted'] },
  source_namespaces: { type: 'array', items: name },
  source_networks: { type: 'array', items: { type: 'string', pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$' } },
  image_registry: { type: 'string', pattern: uuid },
  image_pull_registry: { type: 'string', pattern: uuid },
  image_folder: { type: 'string', maxLength: 100, pattern: '^[a-z0-9]+([._/-][a-z0-9]+)*$' },
  builds: { type: 'string', enum: ['engine', 'cluster'] },
  builder_image: { type: 'string', minLength: 1, maxLength: 500 },
  build_isolation: { type: 'string', enum: ['rootless', 'user_namespace', 'privileged'] },
  build_cpu_millicores: { type: 'integer', minimum: 100, maximum: 1_024_000 },
  build_memory_mib: { type: 'integer', minimum: 64, maximum: 1_048_576 },
  build_disk_gib: { type: 'integer', minimum: 1, maximum: 10_000 },
  http_registries: { type: 'array', items: { type: 'string', pattern: '^[a-z0-9]([-.a-z0-9]*[a-z0-9])?(:[0-9]{1,5})?$' } },
  helper_image: { type: 'string', minLength: 1, maxLength: 500 },
  linger_seconds: { type: 'integer', minimum: 0, maximum: 600 },
  davit_address: { type: 'string', maxLength: 500, pattern: '^https?://[^/?#@\\s]+(/[^?#@\\s]*)?$' },
  terraform_image: { type: 'string', minLength: 1, maxLength: 500 },
  opentofu_image: { type: 'string', minLength: 1, maxLength: 500 },
  cluster_wide_charts: { type: 'boolean' },
  kubernetes_version: { type: 'string', pattern: String.raw`^v1\.[0-9]+\.[0-9]+\+(k3s|rke2r)[0-9]+$` },
  in_cluster: { type: 'boolean' },
};

const kind: DocumentKind<ClusterSettingsTable> = {
  what: 'settings of clusters',
  variable: 'DAVIT_CLUSTER_SETTINGS',
  // There is no default: the settings are read from the operator's file only.
  ownFile: new URL('file:///dev/null'),
  schema: {
    type: 'object',
    propertyNames: { pattern: '^(\\*|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$' },
    additionalProperties: shape(members, Object.keys(members)),
  },
  contradictions,
};

/** Reads a file of settings. `fault` describes what is wrong; the table is empty then. */
export function readClusterSettings(file: string): { readonly table: ClusterSettingsTable; readonly fault: string | null } {
  try {
    return { table: parseDocument(kind, readFileSync(file, 'utf8'), file), fault: null };
  } catch (error) {
    if (isAppError(error)) return { table: {}, fault: `names a file that is invalid. ${error.message}` };
    return { table: {}, fault: `names a file that cannot be read: ${messageOf(error)}` };
  }
}

function contradictions(table: ClusterSettingsTable): readonly ErrorDetail[] {
  const domains = new Set<string>();
  // Otherwise, anybody who can create a cluster record in some organization would get access to the cluster on which
  // Davit runs.
  const all: ErrorDetail[] = (['in_cluster', 'kubernetes_version'] as const)
    .filter((member) => table['*']?.[member] !== undefined)
    .map((member) => ({ path: `*.${member}`, message: 'is a setting of a single cluster: set it under the id of that cluster' }));
  const endpoints = Object.entries(table).flatMap(([id, { address }]): ErrorDetail[] => {
    if (address === undefined) return [];
    const path = `${id}.address`;
    if (id === '*') return [{ path, message: 'is a setting of a single cluster: give each cluster its own' }];
    const endpoint = doorAt(address);
    if (endpoint === null)
      return [{ path, message: 'must be an http or https address of a domain, as in https://apps.example.org:8443' }];
    if (domains.has(endpoint.domain))
      return [{ path, message: `is in ${endpoint.domain}, which is the domain of another cluster already` }];
    domains.add(endpoint.domain);
    return [];
  });
  const idle = Object.entries(table).flatMap(([id, own]): ErrorDetail[] =>
    (['ingress_class', 'certificate_issuer'] as const)
      .filter((member) => own.gateway !== undefined && own[member] !== undefined)
      .map((member) => ({
        path: `${id}.${member}`,
        message: 'applies to Ingresses, which are not used with gateway: leave one of them out',
      })),
  );
  const pulls = Object.entries(table)
    .filter(([id, own]) => own.image_pull_registry !== undefined && settingsOf(table, id).image_registry === undefined)
    .map(([id]) => ({
      path: `${id}.image_pull_registry`,
      message: 'names the same registry as image_registry, which is not set: set that, too',
    }));
  return [...all, ...endpoints, ...idle, ...pulls];
}

/** Returns the settings of a cluster, merged with those for all clusters. */
export function settingsOf(table: ClusterSettingsTable, clusterId: string): OneClusterSettings {
  return { ...table['*'], ...table[clusterId] };
}

/** The public entry point for requests to services. */
export interface PublicEndpoint {
  /** Domain below which services get their host names. */
  readonly domain: string;
  readonly scheme: 'http' | 'https';
  readonly port: number;
}

const domainPattern = /^(?=.{1,180}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

function doorAt(address: string): PublicEndpoint | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/') return null;
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') return null;
  if (!domainPattern.test(url.hostname) || /^[\d.]+$/.test(url.hostname)) return null;
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  const port = url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port);
  return { domain: url.hostname, scheme, port };
}

/** Returns the ids of the clusters that Davit accesses with the service account of its own pods. */
export function clustersOfServiceAccount(table: ClusterSettingsTable): string[] {
  return Object.keys(table).filter((id) => id !== '*' && table[id]?.in_cluster === true);
}

/** Returns the domains below which services on clusters get their host names. */
export function clusterDomains(table: ClusterSettingsTable): string[] {
  return Object.keys(table).flatMap((id) => clusterEndpoint(table, id)?.domain ?? []);
}

/** Returns the entry point of a cluster; null if none is known. */
export function clusterEndpoint(table: ClusterSettingsTable, clusterId: string): PublicEndpoint | null {
  const address = table[clusterId]?.address;
  return address === undefined ? null : doorAt(address);
}
