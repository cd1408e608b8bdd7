import { isIP } from 'node:net';
import { credentialProviders, type Body, type CloudProvider, type KubernetesMode, type operations } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { isOffered, vendorOf, type Catalogue, type CatalogueFeature } from '../../catalogue/catalogue.ts';
import { findCredentials } from '../cloud-credentials/index.ts';
import { shareGitToken } from '../git-token/index.ts';
import { shareLabelGroups } from '../label-group/index.ts';
import { invalid, invalidReference, Problems } from '../shared/problems.ts';
import type { ClusterSpec } from './store.ts';

export type ClusterRequest = Body<(typeof operations)['createCluster']>;
export type ProviderInfoRequest = Body<(typeof operations)['specifyClusterCloudProviderInfo']>;

/** The kind and the place of a cluster. A request is checked against them. */
export interface ClusterKind {
  readonly provider: CloudProvider;
  readonly kubernetes: KubernetesMode;
  readonly region: string;
}

/** Vendors whose managed Kubernetes Davit knows. Clusters of the other vendors are installed by their owners. */
const managedProviders: readonly CloudProvider[] = ['AWS', 'VENDORA', 'VENDORB', 'CLOUDC'];

/** Returns the default for a request that does not name a kind: managed, if the vendor has managed Kubernetes. */
export function defaultKubernetes(provider: CloudProvider): KubernetesMode {
  return managedProviders.includes(provider) ? 'MANAGED' : 'SELF_MANAGED';
}

/**
 * Checks the parts of a request against each other and against the catalogue. Fails with VALIDATION_FAILED, which lists
 * all problems at once.
 */
export function checkRequest(catalogue: Catalogue, kind: ClusterKind, spec: ClusterSpec): void {
  const problems = new Problems();
  checkKind(problems, kind);
  checkRegion(problems, catalogue, kind);
  checkNodes(problems, catalogue, kind, spec);
  for (const [index, { id, value }] of (spec.features ?? []).entries()) {
    const feature = vendorOf(catalogue, kind.provider)?.features.find((one) => one.id === id);
    if (feature === undefined) problems.add(`features.${index}.id`, `is not a feature of clusters of ${kind.provider}`);
    else checkFeature(problems, `features.${index}.value`, feature, value);
  }
  problems.throwIfAny();
}

function checkKind(problems: Problems, { provider, kubernetes }: ClusterKind): void {
  if (kubernetes === 'MANAGED' && !managedProviders.includes(provider)) {
    problems.add('kubernetes', `must be SELF_MANAGED for ${provider}; MANAGED is known for ${managedProviders.join(', ')}`);
  }
  if (kubernetes === 'PARTIALLY_MANAGED' && provider !== 'AWS' && provider !== 'ON_PREMISE') {
    problems.add('kubernetes', 'may be PARTIALLY_MANAGED for AWS and ON_PREMISE only');
  }
}

function checkRegion(problems: Problems, catalogue: Catalogue, { provider, kubernetes, region }: ClusterKind): void {
  const vendor = vendorOf(catalogue, provider);
  if (kubernetes !== 'MANAGED' || vendor === undefined) return;
  const names = vendor.regions.map(({ name }) => name);
  if (!names.includes(region))
    problems.add('region', `is not a region of ${provider} in the catalogue; use one of ${names.join(', ')}`);
}

function checkNodes(
  problems: Problems,
  catalogue: Catalogue,
  { provider, kubernetes, region }: ClusterKind,
  spec: ClusterSpec,
): void {
  const minimum = spec.min_running_nodes ?? 1;
  const maximum = spec.max_running_nodes ?? minimum;
  if (maximum < minimum) problems.add('max_running_nodes', `must be at least min_running_nodes, which is ${minimum}`);
  const vendor = vendorOf(catalogue, provider);
  const wanted = spec.instance_type ?? null;
  if (kubernetes !== 'MANAGED' || vendor === undefined || wanted === null) return;
  const type = vendor.instance_types.find((one) => one.type === wanted || one.type.toLowerCase() === wanted.toLowerCase());
  if (type === undefined) problems.add('instance_type', `is not an instance type of ${provider} in the catalogue`);
  else if (!isOffered(vendor, type.locations, region)) problems.add('instance_type', `is not offered in ${region}`);
}

const networkNames = {
  AWS_USER_PROVIDED_NETWORK: ['aws_vpc_eks_id'],
  CLOUDC_USER_PROVIDED_NETWORK: ['vpc_name'],
} as const;
const networkLists = {
  AWS_USER_PROVIDED_NETWORK: ['eks_subnets_zone_a_ids', 'eks_subnets_zone_b_ids', 'eks_subnets_zone_c_ids'],
  CLOUDC_USER_PROVIDED_NETWORK: [],
} as const;

function checkFeature(problems: Problems, path: string, feature: CatalogueFeature, value: unknown): void {
  const { type, accepted_values: accepted } = feature;
  if (type === 'STRING' || type === 'BOOLEAN') {
    if (typeof value !== type.toLowerCase()) problems.add(path, `must be ${type === 'STRING' ? 'a string' : 'true or false'}`);
    else if (accepted.length > 0 && !accepted.some((one) => one === value)) {
      problems.add(path, `must be one of ${accepted.join(', ')}`);
    }
    return;
  }
  if (typeof value !== 'object' || value === null) return problems.add(path, 'must be an object');
  const members = new Map<string, unknown>(Object.entries(value));
  for (const name of networkNames[type]) {
    const member = members.get(name);
    if (typeof member !== 'string' || member.trim() === '') problems.add(`${path}.${name}`, 'must be a string that is not blank');
  }
  for (const name of networkLists[type]) {
    const member = members.get(name);
    const isList = Array.isArray(member) && member.length > 0 && member.every((one) => typeof one === 'string' && one !== '');
    if (!isList) problems.add(`${path}.${name}`, 'must be a list of at least one subnet id');
  }
}

/** Merges the settings of a request into the stored ones. A feature without a value is removed. */
export function specOf(request: ClusterRequest, stored: ClusterSpec = {}): ClusterSpec {
  if (request.secret_manager_accesses?.length) {
    throw invalid('secret_manager_accesses', 'cannot be set: Davit keeps secrets itself; leave it out, or send an empty list');
  }
  const { min_running_nodes, max_running_nodes, disk_size, disk_iops, disk_throughput, instance_type, ssh_keys } = request;
  const { metrics_parameters, infrastructure_charts_parameters, keda } = request;
  const nodes = { min_running_nodes, max_running_nodes, disk_size, disk_iops, disk_throughput, instance_type, ssh_keys };
  const labels_groups = request.labels_groups && [...new Set(request.labels_groups.map(({ id }) => id.toLowerCase()))];
  const named = { ...nodes, metrics_parameters, infrastructure_charts_parameters, keda, labels_groups };
  const given = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
  if (request.features === undefined) return { ...stored, ...given };
  // If an id occurs more than once, the last occurrence counts.
  const features = new Map(request.features.map(({ id, value }) => [id.toLowerCase(), value ?? null]));
  return {
    ...stored,
    ...given,
    features: [...features].flatMap(([id, value]) => (value === null ? [] : [{ id, value }])),
  };
}

/**
 * Returns the credentials that a request names. Undefined: the request does not mention credentials. Null: the request
 * removes them. `path` is the position of the credentials in the request. Fails with VALIDATION_FAILED if provider or
 * region contradict those of the cluster, or INVALID_REFERENCE for an unknown id.
 */
export async function wantedCredentials(
  database: Queryable,
  cluster: ClusterKind & { readonly organizationId: string },
  { info, path }: { readonly info: ProviderInfoRequest | null | undefined; readonly path: string },
): Promise<string | null | undefined> {
  if (info === undefined || info === null) return info;
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const problems = new Problems();
  if (info.cloud_provider !== undefined && info.cloud_provider !== cluster.provider) {
    problems.add(at('cloud_provider'), `must be ${cluster.provider}, as the cluster's; a cluster cannot change its vendor`);
  }
  if (info.region !== undefined && info.region !== cluster.region) {
    problems.add(at('region'), `must be ${cluster.region}, as the cluster's`);
  }
  problems.throwIfAny();
  const id = info.credentials?.id;
  if (id === undefined) return undefined;
  const found = await findCredentials(database, cluster.organizationId, id.toLowerCase());
  if (found === null) throw invalidReference(at('credentials.id'), 'names no credentials of this organization');
  const isFitting = found.provider === cluster.provider || !credentialProviders.some((one) => one === cluster.provider);
  if (!isFitting)
    throw invalidReference(at('credentials.id'), `names credentials for ${found.provider}, not for ${cluster.provider}`);
  return found.id;
}

/**
 * Locks the label groups and the git token that the request names until the transaction ends. That transaction must
 * also write the references. Fails with INVALID_REFERENCE if the organization does not have one of them.
 */
export async function shareReferences(tx: Queryable, organizationId: string, request: ClusterRequest): Promise<void> {
  const groups = (request.labels_groups ?? []).map(({ id }) => id.toLowerCase());
  const found = groups.length === 0 ? new Set<string>() : await shareLabelGroups(tx, organizationId, groups);
  const unknown = groups.findIndex((id) => !found.has(id));
  if (unknown !== -1) {
    throw invalidReference(
      `labels_groups.${unknown}.id`,
      'is not the id of a label group of this organization; create one first',
    );
  }
  const token = request.infrastructure_charts_parameters?.eks_anywhere_parameters?.git_repository.git_token_id;
  if (token === undefined || (await shareGitToken(tx, organizationId, token))) return;
  throw invalidReference(
    'infrastructure_charts_parameters.eks_anywhere_parameters.git_repository.git_token_id',
    'is not the id of a git token of this organization; create one first',
  );
}

/** Returns whether a text is a CIDR block such as 10.0.0.0/16. */
export function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  const version = isIP(address);
  return version !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}
