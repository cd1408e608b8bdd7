import Type from 'typebox';
import { about, Named, Nullable, Optionals, Uuid, Words } from '../shape.ts';
import { gitProviders } from '../shared/words.ts';

/* Programs that run on a Kubernetes cluster besides the services. Their settings are stored for its installation. */

const Enabled = Named(
  'EnabledFlag',
  Type.Object({ enabled: about('Whether the program is on.', Type.Boolean()) }),
  'Whether a program is on; stored only.',
);
const Short = Type.String({ maxLength: 255 });

const Alerting = Named(
  'AlertingConfig',
  Type.Object({
    enabled: about('Whether alerts are sent.', Type.Boolean()),
    default_rule_labels: Type.Optional(
      about(
        'Labels of every alert; null: none.',
        Nullable(Type.Record(Type.String({ maxLength: 255 }), Type.String({ maxLength: 1000 }))),
      ),
    ),
    spec_config_secret: Type.Optional(about('The Secret with the configuration.', Short)),
    spec_external_url: Type.Optional(about('The address that alerts link to.', Type.String({ maxLength: 2048 }))),
    config_name: Type.Optional(about('The name of the configuration.', Short)),
  }),
  'Alerts of a cluster; stored only.',
);

/** Whether and how a cluster's metrics are collected. */
export const MetricsParameters = Named(
  'MetricsParameters',
  Optionals({
    enabled: about('Whether metrics are collected.', Type.Boolean()),
    configuration: Named(
      'MetricsConfiguration',
      Optionals({
        kind: about('Who collects the metrics.', Words(['MANAGED_BY_SERVICE'] as const)),
        resource_profile: about(
          'How much the collector may use.',
          Words({ LOW: 'Less than usual.', NORMAL: 'What is usual.', HIGH: 'More than usual.' }),
        ),
        cloud_watch_export_config: Enabled,
        high_availability: about('Whether there are several collectors.', Type.Boolean()),
        internal_network_monitoring: about('Whether traffic inside the cluster is measured.', Enabled),
        alerting: Alerting,
      }),
      'How metrics are collected; stored only.',
    ),
  }),
  'The collection of metrics; stored only.',
);

const Backup = Named(
  'ClusterBackup',
  Type.Object({
    enabled: Type.Optional(about('Whether backups are made.', Type.Boolean({ default: true }))),
    timeout_seconds: Type.Optional(
      about('The longest backup, in seconds.', Type.Integer({ minimum: 1, maximum: 604_800, default: 300 })),
    ),
    certs_secret_name: Type.Optional(about('The Secret with the certificates.', Short)),
    s3: about(
      'Where backups are stored.',
      Named(
        'ClusterBackupS3',
        Type.Object({
          bucket: about('The name of the bucket.', Short),
          region: about('The region of the bucket.', Short),
          role_arn: about('The AWS role to write with.', Short),
          key_prefix: Type.Optional(about('What the names of the objects begin with.', Type.String({ maxLength: 1024 }))),
        }),
        'Where backups of a cluster are stored.',
      ),
    ),
  }),
  'The backup of a cluster; stored only.',
);

/** Values of the Helm charts that are installed on a cluster. */
export const InfrastructureChartsParameters = Named(
  'InfrastructureChartsParameters',
  Optionals({
    nginx_parameters: Named(
      'NginxParameters',
      Optionals({
        replica_count: about('How many instances it has.', Type.Integer({ minimum: 0, maximum: 1000 })),
        default_ssl_certificate: about('The certificate for other hosts.', Short),
        publish_status_address: about('The address that it publishes.', Short),
        annotation_metal_lb_load_balancer_ips: about('The addresses that MetalLB gives it.', Short),
        annotation_external_dns_kubernetes_target: about('The target of its DNS records.', Short),
      }),
      'Values of the ingress controller; stored only.',
    ),
    cert_manager_parameters: about(
      'Values of cert-manager.',
      Optionals({ kubernetes_namespace: about('The namespace of cert-manager.', Short) }),
    ),
    metal_lb_parameters: about(
      'Values of the load balancer MetalLB.',
      Optionals({ ip_address_pools: about('The addresses that MetalLB gives.', Type.Array(Short, { maxItems: 100 })) }),
    ),
    eks_anywhere_parameters: Named(
      'EksAnywhereParameters',
      Type.Object({
        git_repository: Named(
          'EksAnywhereGitRepository',
          Type.Object({
            url: about(
              'The URL of the repository.',
              Type.String({ maxLength: 2048, pattern: '^[A-Za-z][A-Za-z0-9+.-]*://\\S+$' }),
            ),
            branch: Type.Optional(about('The branch; by default the default branch.', Short)),
            commit_id: Type.Optional(about('The commit; by default the newest.', Short)),
            git_token_id: about('A git token of the organization.', Uuid),
            provider: Type.Optional(Words(gitProviders)),
          }),
          'Where the configuration is.',
        ),
        yaml_file_path: about('The file with its configuration.', Type.String({ minLength: 1, maxLength: 1024 })),
        cluster_backup: Type.Optional(Backup),
      }),
      'Values of EKS Anywhere; stored only.',
    ),
  }),
  'Values of charts on a cluster; stored only.',
);

/** Event-driven scaling. */
export const Keda = Enabled;

/** Groups of labels for the resources that the cluster's vendor creates, by their ids. */
export const ClusterLabelsGroups = Type.Array(Type.Object({ id: about('The `id` of the label group.', Uuid) }), {
  maxItems: 100,
});

/** Fields that a cluster's record and its requests share. */
export const installation = {
  metrics_parameters: Type.Optional(about('The collection of metrics; stored only.', MetricsParameters)),
  infrastructure_charts_parameters: Type.Optional(about('Values of charts; stored only.', InfrastructureChartsParameters)),
  keda: Type.Optional(about('Whether KEDA should be there; stored only.', Keda)),
  labels_groups: Type.Optional(about(`Label groups for the vendor's resources; stored only.`, ClusterLabelsGroups)),
};
