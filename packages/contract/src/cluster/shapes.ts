import Type from 'typebox';
import {
  about,
  DateTime,
  enumeration,
  Name,
  Named,
  Nullable,
  Optionals,
  Reference,
  Text,
  Uuid,
  Words,
  neverSent,
} from '../shape.ts';
import { serviceTypes } from '../shared/words.ts';
import { deploymentStatuses } from '../shared/deployment-words.ts';
import { installation } from './installation.ts';

export const clusterStates = enumeration('ClusterState', {
  BUILDING: neverSent,
  BUILD_ERROR: neverSent,
  CANCELED: neverSent,
  CANCELING: neverSent,
  DELETED: neverSent,
  DELETE_ERROR: neverSent,
  DELETE_QUEUED: neverSent,
  DELETING: neverSent,
  DEPLOYED: 'The cluster answers; services can be deployed.',
  DEPLOYING: 'The cluster is being upgraded; services can be deployed.',
  DEPLOYMENT_ERROR: 'The cluster does not answer, lacks permissions, or its upgrade is stuck.',
  DEPLOYMENT_QUEUED: neverSent,
  DRY_RUN: neverSent,
  QUEUED: neverSent,
  READY: 'The cluster is only recorded.',
  STOPPED: neverSent,
  STOPPING: neverSent,
  STOP_ERROR: neverSent,
  STOP_QUEUED: neverSent,
  RESTART_QUEUED: neverSent,
  RESTARTING: neverSent,
  RESTARTED: neverSent,
  RESTART_ERROR: neverSent,
  INVALID_CREDENTIALS: 'The cluster refuses the kubeconfig.',
});

export const cloudProviders = enumeration(
  'CloudProviderName',
  {
    AWS: 'Amazon Web Services.',
    VENDORA: 'The vendor called A here.',
    CLOUDC: 'The vendor called C here.',
    DO: 'The vendor DigitalOcean.',
    VENDORB: 'The vendor called B here.',
    OVH: 'The vendor OVHcloud.',
    CIVO: 'The vendor Civo.',
    HETZNER: 'The vendor Hetzner.',
    ORACLE: 'The vendor Oracle.',
    IBM: 'The vendor IBM.',
    ON_PREMISE: 'Your own machines.',
  },
  'The cloud vendor of a cluster. Some have neutral names.',
);
export type CloudProvider = (typeof cloudProviders)[number];

/** Providers whose credentials can be stored. */
export const credentialProviders = enumeration(
  'CredentialProvider',
  {
    AWS: 'Amazon Web Services.',
    VENDORA: 'The vendor called A here.',
    CLOUDC: 'The vendor called C here.',
    ON_PREMISE: 'Your own machines.',
    VENDORB: 'The vendor called B here.',
  },
  'A vendor whose credentials can be stored.',
);
export type CredentialProvider = (typeof credentialProviders)[number];

export const kubernetesModes = enumeration(
  'KubernetesMode',
  {
    MANAGED: 'Davit; this version only records such a cluster.',
    SELF_MANAGED: 'You; Davit connects with its kubeconfig.',
    PARTIALLY_MANAGED: 'As SELF_MANAGED; for AWS and ON_PREMISE only.',
  },
  'Who installs the cluster.',
);
export type KubernetesMode = (typeof kubernetesModes)[number];

export const featureTypes = enumeration(
  'ClusterFeatureType',
  {
    STRING: 'A text, such as a range of addresses.',
    BOOLEAN: 'Whether it is on.',
    AWS_USER_PROVIDED_NETWORK: 'An existing network at AWS.',
    CLOUDC_USER_PROVIDED_NETWORK: 'An existing network at vendor C.',
  },
  'The type of the value of a feature.',
);
export type FeatureType = (typeof featureTypes)[number];

/** A string, a boolean or an object, depending on the type of the feature. */
export type FeatureValue = string | boolean | Readonly<Record<string, unknown>>;

/** A feature that a vendor offers for clusters. In a cluster's record, `value_object` holds the chosen value. */
export const ClusterFeature = Named(
  'ClusterFeature',
  Type.Object({
    id: about('Identifies the feature.', Uuid),
    title: about('The name of the feature.', Type.String()),
    description: Type.Optional(about('What it does; null: not described.', Nullable(Type.String()))),
    cost_per_month_in_cents: Type.Optional(about('What the vendor takes, in cents; null: unknown.', Nullable(Type.Integer()))),
    cost_per_month: Type.Optional(about('What the vendor takes; null: unknown.', Nullable(Type.Number()))),
    currency_code: Type.Optional(about('The currency of the costs; null: unknown.', Nullable(Type.String()))),
    is_cloud_provider_paying_feature: about('Whether the vendor takes money for it.', Type.Boolean()),
    cloud_provider_feature_documentation: Type.Optional(
      about(`The vendor's page about it; null: none.`, Nullable(Type.String())),
    ),
    is_service_paying_feature: about('Whether Davit takes money for it.', Type.Boolean()),
    service_feature_documentation: Type.Optional(about('A page about it; null: none.', Nullable(Type.String()))),
    value_type: Type.Optional(about('The type of the value.', Words(['BOOLEAN'] as const))),
    value_object: Type.Optional(
      about(
        'The chosen value; null: none.',
        Nullable(
          Named(
            'ClusterFeatureValue',
            Type.Object({
              type: Words(featureTypes),
              value: about('The value: a text, a boolean or an object.', Type.Unsafe<FeatureValue>({})),
            }),
            'The chosen value of a feature.',
          ),
        ),
      ),
    ),
    is_value_updatable: Type.Optional(about('Whether the value can be changed later.', Type.Boolean())),
    accepted_values: Type.Optional(
      about('The values that can be chosen.', Type.Array(Type.Unsafe<string | boolean>({ type: ['string', 'boolean'] }))),
    ),
  }),
  'A feature that a vendor offers for clusters; stored only.',
);

export const Cluster = Named(
  'Cluster',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    organization: about('The organization that has the cluster.', Reference),
    name: about('Its name, unique in the organization without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    region: about('The region of the vendor, or any word of yours.', Type.String()),
    cloud_provider: Words(cloudProviders),
    min_running_nodes: Type.Optional(about('The smallest number of nodes; stored only.', Type.Integer())),
    max_running_nodes: Type.Optional(about('The largest number of nodes; stored only.', Type.Integer())),
    disk_size: Type.Optional(about('The disk of a node, in GB; stored only.', Type.Integer())),
    disk_iops: Type.Optional(about('Operations per second of that disk; stored only.', Type.Integer())),
    disk_throughput: Type.Optional(about('MiB per second of that disk; stored only.', Type.Integer())),
    instance_type: Type.Optional(about('The type of its nodes; stored only.', Type.String())),
    kubernetes: Type.Optional(Words(kubernetesModes)),
    cpu: Type.Optional(about('Its CPU, in millicores. Absent: unknown.', Type.Integer())),
    memory: Type.Optional(about('Its memory, in MiB. Absent: unknown.', Type.Integer())),
    status: Type.Optional(Words(clusterStates)),
    has_access: Type.Optional(about('Always true for those who see it.', Type.Boolean())),
    version: Type.Optional(about('Engine or Kubernetes, with version. Absent: unknown.', Type.String())),
    is_default: Type.Optional(about('Whether it gets the environments that name no cluster.', Type.Boolean())),
    is_demo: Type.Optional(about('Whether it is the cluster `Local`.', Type.Boolean())),
    production: Type.Optional(about('Whether it is for production; a label only.', Type.Boolean())),
    ssh_keys: Type.Optional(about('Public keys for its nodes; stored only.', Type.Array(Type.String()))),
    features: Type.Optional(about('The chosen features; stored only.', Type.Array(ClusterFeature))),
    deployment_status: Type.Optional(
      about('UP_TO_DATE if Davit has access to the cluster, else NEVER_DEPLOYED.', Words(deploymentStatuses)),
    ),
    ...installation,
  }),
  'Where environments run: a container engine or a Kubernetes cluster.',
);

const credentialsReference = Optionals({
  id: about('The `id` of the credentials.', Uuid),
  name: about('The name of the credentials.', Type.String({ maxLength: 255 })),
});

/** The cloud account of a cluster. */
export const CloudProviderInfoRequest = Named(
  'ClusterCloudProviderInfoRequest',
  Optionals({
    cloud_provider: about('The vendor; it must be that of the cluster.', Words(credentialProviders)),
    credentials: about('The stored credentials.', credentialsReference),
    region: about('The region of the vendor.', Type.String({ minLength: 1, maxLength: 255 })),
  }),
  'The cloud account of a cluster.',
);

export const CloudProviderInfo = Named(
  'ClusterCloudProviderInfo',
  Optionals({
    cloud_provider: Words(credentialProviders),
    credentials: about('The stored credentials. Absent: none.', credentialsReference),
    region: about('The region of the vendor.', Type.String()),
  }),
  'The cloud account of a cluster.',
);

const nodes = Type.Integer({ minimum: 1, maximum: 10_000 });

export const ClusterRequest = Named(
  'ClusterRequest',
  Type.Object({
    name: about('Its name, unique in the organization without regard to case.', Name),
    description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
    region: about(
      'The region of the vendor, or any word of yours.',
      Type.String({ minLength: 1, maxLength: 255, pattern: '\\S' }),
    ),
    cloud_provider: Words(cloudProviders),
    cloud_provider_credentials: Type.Optional(about('The cloud account; null: none.', Nullable(CloudProviderInfoRequest))),
    min_running_nodes: Type.Optional(about('The smallest number of nodes; stored only.', nodes)),
    max_running_nodes: Type.Optional(about('The largest number of nodes; stored only.', nodes)),
    disk_size: Type.Optional(
      about('The disk of a node, in GB; stored only.', Type.Integer({ minimum: 1, maximum: 65_536, default: 40 })),
    ),
    disk_iops: Type.Optional(
      about('Operations per second of that disk; stored only.', Type.Integer({ minimum: 3000, maximum: 16_000 })),
    ),
    disk_throughput: Type.Optional(
      about('MiB per second of that disk; stored only.', Type.Integer({ minimum: 125, maximum: 1000 })),
    ),
    instance_type: Type.Optional(
      about('The type of its nodes; stored only.', Nullable(Type.String({ minLength: 1, maxLength: 255 }))),
    ),
    kubernetes: Type.Optional(
      about('Who installs the cluster. Default: MANAGED where the vendor has it, else SELF_MANAGED.', Words(kubernetesModes)),
    ),
    production: Type.Optional(about('Whether it is for production; a label only.', Type.Boolean())),
    ssh_keys: Type.Optional(
      about(
        'Public keys for its nodes; stored only.',
        Type.Array(Type.String({ minLength: 1, maxLength: 10_000 }), { maxItems: 100 }),
      ),
    ),
    features: Type.Optional(
      about(
        'The chosen features; stored only.',
        Type.Array(
          Named(
            'ClusterFeatureRequest',
            Type.Object({
              id: about('The `id` of the feature, of the catalogue.', Uuid),
              value: Type.Optional(
                about(
                  'The value: a text, a boolean or an object.',
                  Type.Unsafe<FeatureValue | null>({ type: ['string', 'boolean', 'object', 'null'], maxLength: 10_000 }),
                ),
              ),
            }),
            'A feature of the catalogue that is chosen.',
          ),
          { maxItems: 100 },
        ),
      ),
    ),
    // Newer clients send this field. Davit reads no secrets of vendors, and refuses a list that is not empty.
    secret_manager_accesses: Type.Optional(
      about('Must be empty: Davit reads no secrets of vendors.', Nullable(Type.Array(Type.Unknown(), { maxItems: 100 }))),
    ),
    ...installation,
  }),
  'A cluster to record, or its new fields.',
);

export const ClusterLock = Named(
  'ClusterLock',
  Type.Object({
    reason: about('Why it is locked.', Type.String()),
    ttl_in_days: Type.Optional(about('After how many days it expires. Absent: never.', Type.Integer())),
    cluster_id: about('The `id` of the cluster.', Uuid),
    locked_at: about('When it was locked.', DateTime),
    owner_name: about('The person or API token that locked it.', Type.String()),
  }),
  'Prevents changes of a cluster until it is removed or expires.',
);

/** `reason` is always sent: clients newer than the contract reject a status without it. */
export const ClusterStatus = Named(
  'ClusterStatus',
  Type.Object({
    cluster_id: about('The `id` of the cluster.', Uuid),
    status: Words(clusterStates),
    is_deployed: about('Whether Davit has access to it; it may not answer.', Type.Boolean()),
    next_k8s_available_version: Type.Optional(about('The version to upgrade to; null: none.', Nullable(Type.String()))),
    last_execution_id: Type.Optional(about(neverSent, Type.String())),
    cluster_lock: Type.Optional(about('The lock; null: it is not locked.', Nullable(ClusterLock))),
    last_deployment_date: Type.Optional(about('When it was last deployed. Absent: never.', DateTime)),
    reason: about('Why it has this status.', Words({ UNSPECIFIED: 'For no special reason.', MAINTENANCE: neverSent })),
  }),
  'The status of a cluster, as it is now.',
);

export const ClusterEnvironment = Named(
  'ClusterEnvironment',
  Type.Object({
    environment_id: about('The `id` of the environment.', Uuid),
    environment_name: about('The name of the environment.', Type.String()),
    project_id: about('The project of the environment.', Uuid),
    project_name: about('The name of the project.', Type.String()),
    services: about(
      'The services of the environment.',
      Type.Array(
        Named(
          'ClusterEnvironmentService',
          Type.Object({
            id: about('The `id` of the service.', Uuid),
            name: about('The name of the service.', Type.String()),
            type: Words(serviceTypes),
          }),
          'A service on a cluster.',
        ),
      ),
    ),
  }),
  'An environment on a cluster, with its services.',
);

export const clusterLogSteps = enumeration(
  'ClusterLogStep',
  {
    LoadConfiguration: neverSent,
    Create: neverSent,
    Created: 'It was checked and can be used, or its upgrade began.',
    CreateError: 'The check or the upgrade failed.',
    Pause: neverSent,
    Paused: neverSent,
    PauseError: neverSent,
    Delete: neverSent,
    Deleted: neverSent,
    DeleteError: neverSent,
    RetrieveClusterConfig: neverSent,
    RetrieveClusterResources: neverSent,
    ValidateSystemRequirements: neverSent,
    UnderMigration: neverSent,
    Unknown: neverSent,
  },
  'What was done with a cluster.',
);

const logDetails = Named(
  'ClusterLogDetails',
  Type.Object({
    provider_kind: about('The cloud vendor of the cluster.', Type.String()),
    region: about('The region of the cluster.', Type.String()),
    transmitter: Named(
      'ClusterLogTransmitter',
      Type.Object({
        type: about('Always `Cluster`.', Type.String()),
        id: about('The `id` of the cluster.', Type.String()),
        name: about('The name of the cluster.', Type.String()),
      }),
      'The cluster that a line is about.',
    ),
  }),
  'What a line is about.',
);

export const ClusterLog = Named(
  'ClusterLog',
  Type.Object({
    type: about('The level of the line: `info` or `error`.', Type.String()),
    timestamp: about('When it was written.', DateTime),
    step: Words(clusterLogSteps),
    message: Type.Optional(
      about('The text of the line.', Type.Object({ safe_message: about('The text, without secrets.', Type.String()) })),
    ),
    error: Type.Optional(
      about(
        'What failed. Absent: nothing.',
        Named(
          'ClusterLogError',
          Type.Object({
            tag: about('The cause, for programs.', Type.String()),
            user_log_message: about('What happened, for a person.', Type.String()),
            link: about('The page that explains the cause.', Type.String()),
            hint_message: about('What to do about it.', Type.String()),
            event_details: about('What the line is about.', logDetails),
          }),
          'What failed, and what to do about it.',
        ),
      ),
    ),
    details: about('What the line is about.', logDetails),
  }),
  'A line of the log of a cluster.',
);
