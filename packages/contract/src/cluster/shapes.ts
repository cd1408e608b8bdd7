import Type from 'typebox';
import { DateTime, Name, Nullable, Optionals, Reference, Text, Uuid, Words, Named } from '../shape.ts';
import { clusterStates, deploymentStatuses, serviceTypes } from '../shared/words.ts';
import { installation } from './installation.ts';

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

/** Providers whose credentials can be stored. */
export const credentialProviders = ['AWS', 'VENDORA', 'CLOUDC', 'ON_PREMISE', 'VENDORB'] as const;
export type CredentialProvider = (typeof credentialProviders)[number];

export const kubernetesModes = ['MANAGED', 'SELF_MANAGED', 'PARTIALLY_MANAGED'] as const;
export type KubernetesMode = (typeof kubernetesModes)[number];

export const featureTypes = ['STRING', 'BOOLEAN', 'AWS_USER_PROVIDED_NETWORK', 'CLOUDC_USER_PROVIDED_NETWORK'] as const;
export type FeatureType = (typeof featureTypes)[number];

/** A string, a boolean or an object, depending on the type of the feature. */
export type FeatureValue = string | boolean | Readonly<Record<string, unknown>>;

/** A feature that a vendor offers for clusters. In a cluster's record, `value_object` holds the chosen value. */
export const ClusterFeature = Named(
  'ClusterFeature',
  Type.Object({
    id: Uuid,
    title: Type.String(),
    description: Type.Optional(Nullable(Type.String())),
    cost_per_month_in_cents: Type.Optional(Nullable(Type.Integer())),
    cost_per_month: Type.Optional(Nullable(Type.Number())),
    currency_code: Type.Optional(Nullable(Type.String())),
    is_cloud_provider_paying_feature: Type.Boolean(),
    cloud_provider_feature_documentation: Type.Optional(Nullable(Type.String())),
    is_service_paying_feature: Type.Boolean(),
    service_feature_documentation: Type.Optional(Nullable(Type.String())),
    value_type: Type.Optional(Words(['BOOLEAN'] as const)),
    value_object: Type.Optional(
      Nullable(Named('ClusterFeatureValue', Type.Object({ type: Words(featureTypes), value: Type.Unsafe<FeatureValue>({}) }))),
    ),
    is_value_updatable: Type.Optional(Type.Boolean()),
    accepted_values: Type.Optional(Type.Array(Type.Unsafe<string | boolean>({ type: ['string', 'boolean'] }))),
  }),
);

export const Cluster = Named(
  'Cluster',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    organization: Reference,
    name: Type.String(),
    description: Type.Optional(Type.String()),
    region: Type.String(),
    cloud_provider: Words(cloudProviders),
    min_running_nodes: Type.Optional(Type.Integer()),
    max_running_nodes: Type.Optional(Type.Integer()),
    disk_size: Type.Optional(Type.Integer()),
    disk_iops: Type.Optional(Type.Integer()),
    disk_throughput: Type.Optional(Type.Integer()),
    instance_type: Type.Optional(Type.String()),
    kubernetes: Type.Optional(Words(kubernetesModes)),
    cpu: Type.Optional(Type.Integer()),
    memory: Type.Optional(Type.Integer()),
    status: Type.Optional(Words(clusterStates)),
    has_access: Type.Optional(Type.Boolean()),
    version: Type.Optional(Type.String()),
    is_default: Type.Optional(Type.Boolean()),
    is_demo: Type.Optional(Type.Boolean()),
    production: Type.Optional(Type.Boolean()),
    ssh_keys: Type.Optional(Type.Array(Type.String())),
    features: Type.Optional(Type.Array(ClusterFeature)),
    deployment_status: Type.Optional(Words(deploymentStatuses)),
    ...installation,
  }),
);

const credentialsReference = Optionals({ id: Uuid, name: Type.String({ maxLength: 255 }) });

/** The cloud account of a cluster. */
export const CloudProviderInfoRequest = Named(
  'ClusterCloudProviderInfoRequest',
  Optionals({
    cloud_provider: Words(credentialProviders),
    credentials: credentialsReference,
    region: Type.String({ minLength: 1, maxLength: 255 }),
  }),
);

export const CloudProviderInfo = Named(
  'ClusterCloudProviderInfo',
  Optionals({
    cloud_provider: Words(credentialProviders),
    credentials: credentialsReference,
    region: Type.String(),
  }),
);

const nodes = Type.Integer({ minimum: 1, maximum: 10_000 });

export const ClusterRequest = Named(
  'ClusterRequest',
  Type.Object({
    name: Name,
    description: Type.Optional(Nullable(Text)),
    region: Type.String({ minLength: 1, maxLength: 255, pattern: '\\S' }),
    cloud_provider: Words(cloudProviders),
    cloud_provider_credentials: Type.Optional(Nullable(CloudProviderInfoRequest)),
    min_running_nodes: Type.Optional(nodes),
    max_running_nodes: Type.Optional(nodes),
    disk_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_536, default: 40 })),
    disk_iops: Type.Optional(Type.Integer({ minimum: 3000, maximum: 16_000 })),
    disk_throughput: Type.Optional(Type.Integer({ minimum: 125, maximum: 1000 })),
    instance_type: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 255 }))),
    kubernetes: Type.Optional(Words(kubernetesModes, { default: 'MANAGED' })),
    production: Type.Optional(Type.Boolean()),
    ssh_keys: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 10_000 }), { maxItems: 100 })),
    features: Type.Optional(
      Type.Array(
        Named(
          'ClusterFeatureRequest',
          Type.Object({
            id: Uuid,
            value: Type.Optional(
              Type.Unsafe<FeatureValue | null>({ type: ['string', 'boolean', 'object', 'null'], maxLength: 10_000 }),
            ),
          }),
        ),
        { maxItems: 100 },
      ),
    ),
    // Newer clients send this field. Davit reads no secrets of vendors, and refuses a list that is not empty.
    secret_manager_accesses: Type.Optional(Nullable(Type.Array(Type.Unknown(), { maxItems: 100 }))),
    ...installation,
  }),
);

export const ClusterLock = Named(
  'ClusterLock',
  Type.Object({
    reason: Type.String(),
    ttl_in_days: Type.Optional(Type.Integer()),
    cluster_id: Uuid,
    locked_at: DateTime,
    owner_name: Type.String(),
  }),
);

/** `reason` is always sent: clients newer than the contract reject a status without it. */
export const ClusterStatus = Named(
  'ClusterStatus',
  Type.Object({
    cluster_id: Uuid,
    status: Words(clusterStates),
    is_deployed: Type.Boolean(),
    next_k8s_available_version: Type.Optional(Nullable(Type.String())),
    last_execution_id: Type.Optional(Type.String()),
    cluster_lock: Type.Optional(Nullable(ClusterLock)),
    last_deployment_date: Type.Optional(DateTime),
    reason: Words(['UNSPECIFIED', 'MAINTENANCE'] as const),
  }),
);

export const ClusterEnvironment = Named(
  'ClusterEnvironment',
  Type.Object({
    environment_id: Uuid,
    environment_name: Type.String(),
    project_id: Uuid,
    project_name: Type.String(),
    services: Type.Array(
      Named('ClusterEnvironmentService', Type.Object({ id: Uuid, name: Type.String(), type: Words(serviceTypes) })),
    ),
  }),
);

export const clusterLogSteps = [
  'LoadConfiguration',
  'Create',
  'Created',
  'CreateError',
  'Pause',
  'Paused',
  'PauseError',
  'Delete',
  'Deleted',
  'DeleteError',
  'RetrieveClusterConfig',
  'RetrieveClusterResources',
  'ValidateSystemRequirements',
  'UnderMigration',
  'Unknown',
] as const;

const logDetails = Named(
  'ClusterLogDetails',
  Type.Object({
    provider_kind: Type.String(),
    region: Type.String(),
    transmitter: Named('ClusterLogTransmitter', Type.Object({ type: Type.String(), id: Type.String(), name: Type.String() })),
  }),
);

export const ClusterLog = Named(
  'ClusterLog',
  Type.Object({
    type: Type.String(),
    timestamp: DateTime,
    step: Words(clusterLogSteps),
    message: Type.Optional(Type.Object({ safe_message: Type.String() })),
    error: Type.Optional(
      Named(
        'ClusterLogError',
        Type.Object({
          tag: Type.String(),
          user_log_message: Type.String(),
          link: Type.String(),
          hint_message: Type.String(),
          event_details: logDetails,
        }),
      ),
    ),
    details: logDetails,
  }),
);
