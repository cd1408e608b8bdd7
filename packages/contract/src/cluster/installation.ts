import Type from 'typebox';
import { Nullable, Optionals, Uuid, Words, Named } from '../shape.ts';
import { gitProviders } from '../shared/words.ts';

/* Programs that run on a Kubernetes cluster besides the services. Their settings are stored for its installation. */

const Enabled = Named('EnabledFlag', Type.Object({ enabled: Type.Boolean() }));
const Short = Type.String({ maxLength: 255 });

const Alerting = Named(
  'AlertingConfig',
  Type.Object({
    enabled: Type.Boolean(),
    default_rule_labels: Type.Optional(Nullable(Type.Record(Type.String({ maxLength: 255 }), Type.String({ maxLength: 1000 })))),
    spec_config_secret: Type.Optional(Short),
    spec_external_url: Type.Optional(Type.String({ maxLength: 2048 })),
    config_name: Type.Optional(Short),
  }),
);

/** Whether and how a cluster's metrics are collected. */
export const MetricsParameters = Named(
  'MetricsParameters',
  Optionals({
    enabled: Type.Boolean(),
    configuration: Named(
      'MetricsConfiguration',
      Optionals({
        kind: Words(['MANAGED_BY_SERVICE'] as const),
        resource_profile: Words(['LOW', 'NORMAL', 'HIGH'] as const),
        cloud_watch_export_config: Enabled,
        high_availability: Type.Boolean(),
        internal_network_monitoring: Enabled,
        alerting: Alerting,
      }),
    ),
  }),
);

const Backup = Named(
  'ClusterBackup',
  Type.Object({
    enabled: Type.Optional(Type.Boolean({ default: true })),
    timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800, default: 300 })),
    certs_secret_name: Type.Optional(Short),
    s3: Named(
      'ClusterBackupS3',
      Type.Object({ bucket: Short, region: Short, role_arn: Short, key_prefix: Type.Optional(Type.String({ maxLength: 1024 })) }),
    ),
  }),
);

/** Values of the Helm charts that are installed on a cluster. */
export const InfrastructureChartsParameters = Named(
  'InfrastructureChartsParameters',
  Optionals({
    nginx_parameters: Named(
      'NginxParameters',
      Optionals({
        replica_count: Type.Integer({ minimum: 0, maximum: 1000 }),
        default_ssl_certificate: Short,
        publish_status_address: Short,
        annotation_metal_lb_load_balancer_ips: Short,
        annotation_external_dns_kubernetes_target: Short,
      }),
    ),
    cert_manager_parameters: Optionals({ kubernetes_namespace: Short }),
    metal_lb_parameters: Optionals({ ip_address_pools: Type.Array(Short, { maxItems: 100 }) }),
    eks_anywhere_parameters: Named(
      'EksAnywhereParameters',
      Type.Object({
        git_repository: Named(
          'EksAnywhereGitRepository',
          Type.Object({
            url: Type.String({ maxLength: 2048, pattern: '^[A-Za-z][A-Za-z0-9+.-]*://\\S+$' }),
            branch: Type.Optional(Short),
            commit_id: Type.Optional(Short),
            git_token_id: Uuid,
            provider: Type.Optional(Words(gitProviders)),
          }),
        ),
        yaml_file_path: Type.String({ minLength: 1, maxLength: 1024 }),
        cluster_backup: Type.Optional(Backup),
      }),
    ),
  }),
);

/** Event-driven scaling. */
export const Keda = Enabled;

/** Groups of labels for the resources that the cluster's vendor creates, by their ids. */
export const ClusterLabelsGroups = Type.Array(Type.Object({ id: Uuid }), { maxItems: 100 });

/** Fields that a cluster's record and its requests share. */
export const installation = {
  metrics_parameters: Type.Optional(MetricsParameters),
  infrastructure_charts_parameters: Type.Optional(InfrastructureChartsParameters),
  keda: Type.Optional(Keda),
  labels_groups: Type.Optional(ClusterLabelsGroups),
};
