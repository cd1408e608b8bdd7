import Type from 'typebox';
import { Named } from '../shape.ts';
import { operation } from '../operation.ts';

/**
 * Settings of the public description that need a cluster installed by Davit. Davit installs no clusters yet, so none of
 * these settings is offered. Requests that set one are refused: users would believe that a stored setting takes effect.
 */
export const clusterAdvancedSettingsNotOffered = [
  'aws.cloudwatch.eks_logs_retention_days',
  'aws.vpc.enable_s3_flow_logs',
  'aws.vpc.flow_logs_retention_days',
  'aws.vpc.enable_nat_gateway_secondary_eip',
  'loki.log_retention_in_week',
  'registry.image_retention_time',
  'cloud_provider.container_registry.tags',
  'aws.eks.enable_alb_controller',
  'aws.eks.enable_efs_addon',
  'aws.eks.efs.throughput_mode',
  'aws.eks.efs.performance_mode',
  'aws.eks.efs.transition_to_ia',
  'load_balancer.size',
  'database.postgresql.deny_any_access',
  'database.postgresql.allowed_cidrs',
  'database.mysql.deny_any_access',
  'database.mysql.allowed_cidrs',
  'database.mongodb.deny_any_access',
  'database.mongodb.allowed_cidrs',
  'database.redis.deny_any_access',
  'database.redis.allowed_cidrs',
  'aws.iam.admin_group',
  'aws.eks.ec2.metadata_imds',
  'aws.eks.ec2.ami',
  'pleco.resources_ttl',
  'registry.mirroring_mode',
  'nginx.vcpu.request_in_milli_cpu',
  'nginx.vcpu.limit_in_milli_cpu',
  'nginx.memory.request_in_mib',
  'nginx.memory.limit_in_mib',
  'envoy.gateway_api.http_request_timeout_seconds',
  'envoy.gateway_api.http_connection_idle_timeout_seconds',
  'nginx.hpa.cpu_utilization_percentage_threshold',
  'nginx.hpa.min_number_instances',
  'nginx.hpa.max_number_instances',
  'storageclass.fast_ssd',
  'service.static_ip_mode',
  'k8s.api.allowed_public_access_cidrs',
] as const;

const Settings = Named('ClusterAdvancedSettings', Type.Object({}), 'The advanced settings of a cluster; there are none yet.');
const tag = 'Cluster';

export const getDefaultClusterAdvancedSettings = operation({
  id: 'getDefaultClusterAdvancedSettings',
  method: 'GET',
  path: '/defaultClusterAdvancedSettings',
  tag,
  summary: 'Read the default settings of clusters',
  description: `
    Returns the advanced settings of a new cluster: an empty object, because Davit offers no advanced setting of clusters
    yet.
  `,
  scope: 'READ',
  target: 'instance',
  status: 200,
  response: Settings,
  errors: [],
});

export const getClusterAdvancedSettings = operation({
  id: 'getClusterAdvancedSettings',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/advancedSettings',
  tag,
  summary: 'Read the advanced settings of a cluster',
  description: `
    Returns the advanced settings of the cluster: an empty object, because Davit offers no advanced setting of clusters
    yet.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: Settings,
  errors: [],
});

export const editClusterAdvancedSettings = operation({
  id: 'editClusterAdvancedSettings',
  method: 'PUT',
  path: '/organization/{organizationId}/cluster/{clusterId}/advancedSettings',
  record: null,
  tag,
  summary: 'Edit the advanced settings of a cluster',
  description: `
    Changes nothing and returns an empty object, because Davit offers no advanced setting of clusters yet. Unknown settings
    and settings that are null are ignored.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_LOCKED\` (409) | The cluster is locked. | Unlock it. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Settings,
  status: 201,
  response: Settings,
  errors: [400, 409],
});
