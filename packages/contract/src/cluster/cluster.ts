import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Nullable, Reference, Uuid, Words } from '../shape.ts';
import { clusterStates, deploymentStatuses } from '../shared/words.ts';

export const cloudProviders = [
  'AWS',
  'VENDORA',
  'CLOUDC',
  'DO',
  'VENDORB',
  'OVH',
  'CIVO',
  'HETZNER',
  'ORACLE',
  'IBM',
  'ON_PREMISE',
] as const;
export type CloudProvider = (typeof cloudProviders)[number];

export const Cluster = Type.Object({
  id: Uuid,
  created_at: DateTime,
  updated_at: Type.Optional(DateTime),
  organization: Reference,
  name: Type.String(),
  description: Type.Optional(Type.String()),
  region: Type.String(),
  cloud_provider: Words(cloudProviders),
  kubernetes: Type.Optional(Words(['MANAGED', 'SELF_MANAGED', 'PARTIALLY_MANAGED'] as const)),
  cpu: Type.Optional(Type.Integer()),
  memory: Type.Optional(Type.Integer()),
  status: Type.Optional(Words(clusterStates)),
  has_access: Type.Optional(Type.Boolean()),
  version: Type.Optional(Type.String()),
  is_default: Type.Optional(Type.Boolean()),
  is_demo: Type.Optional(Type.Boolean()),
  production: Type.Optional(Type.Boolean()),
  deployment_status: Type.Optional(Words(deploymentStatuses)),
});

/** `reason` is always sent: clients that came after the contract refuse a status without it. */
export const ClusterStatus = Type.Object({
  cluster_id: Uuid,
  status: Words(clusterStates),
  is_deployed: Type.Boolean(),
  next_k8s_available_version: Type.Optional(Nullable(Type.String())),
  last_execution_id: Type.Optional(Type.String()),
  last_deployment_date: Type.Optional(DateTime),
  reason: Words(['UNSPECIFIED', 'MAINTENANCE'] as const),
});

const tag = 'Cluster';

export const listOrganizationCluster = operation({
  id: 'listOrganizationCluster',
  method: 'GET',
  path: '/organization/{organizationId}/cluster',
  tag,
  summary: 'List the clusters of an organization',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(Cluster),
  errors: [],
});

export const getOrganizationClusterStatus = operation({
  id: 'getOrganizationClusterStatus',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/status',
  tag,
  summary: 'Read the status of all clusters of an organization',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(ClusterStatus),
  errors: [],
});

export const getClusterStatus = operation({
  id: 'getClusterStatus',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/status',
  tag,
  summary: 'Read the status of a cluster',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: ClusterStatus,
  errors: [],
});
