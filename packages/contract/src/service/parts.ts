import Type from 'typebox';
import { about, Count, DateTime, Named, Nullable, Text, Uuid, Words } from '../shape.ts';
import { AutoscalingRequest } from './autoscaling.ts';
import { gitProviders, portProtocols, serviceTypes } from '../shared/words.ts';

const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

export const ServicePort = Named(
  'ServicePort',
  Type.Object({
    id: about('Identifies the port; it stays while port and protocol do.', Uuid),
    name: Type.Optional(about('The name of the port, part of its host name.', Type.String())),
    internal_port: about('The port at which the process listens.', Type.Integer()),
    external_port: Type.Optional(about('The public port. Absent if it is not public.', Type.Integer())),
    publicly_accessible: about('Whether it is reachable from outside.', Type.Boolean()),
    is_default: Type.Optional(about('Whether the host name without a port name leads to it.', Type.Boolean())),
    protocol: Words(portProtocols, { default: 'HTTP' }),
    public_path: Type.Optional(about('Only requests below this path reach it. Absent: all.', Type.String())),
    public_path_rewrite: Type.Optional(about('Replaces `public_path` in requests. Absent: it stays.', Type.String())),
  }),
  'A port of a service.',
);

const path = Type.String({ pattern: '^/', maxLength: 1000 });

export const ServicePortRequest = Named(
  'ServicePortRequest',
  Type.Object({
    id: Type.Optional(about('The port to keep, from the record. Without it, port and protocol find it.', Nullable(Uuid))),
    name: Type.Optional(
      about(
        'Part of the host name; by default `p` and the port. Public ports need different names.',
        Nullable(Type.String({ minLength: 1, maxLength: 63 })),
      ),
    ),
    internal_port: about('The port at which the process listens.', Port),
    external_port: Type.Optional(
      about('The port of this machine; a public TCP or UDP port needs one that is free.', Nullable(Port)),
    ),
    publicly_accessible: about(
      'Whether it is reachable from outside. The others are reachable in the environment.',
      Type.Boolean(),
    ),
    is_default: Type.Optional(
      about('Whether the host name without a port name leads to it; by default the first public port.', Nullable(Type.Boolean())),
    ),
    protocol: Type.Optional(
      about('The protocol; the gateway routes HTTP and GRPC by host name.', Nullable(Words(portProtocols, { default: 'HTTP' }))),
    ),
    public_path: Type.Optional(about('Only requests below this path reach it; HTTP and GRPC only. null: all.', Nullable(path))),
    public_path_rewrite: Type.Optional(about('Replaces `public_path` in requests. null: the path stays.', Nullable(path))),
  }),
  'A port of a service. Each pair of port and protocol may occur once.',
);

export const Storage = Named(
  'ServiceStorage',
  Type.Object({
    id: about('Identifies the volume; its data stays with this id.', Uuid),
    type: about('The only type there is; it chooses nothing.', Words(['FAST_SSD'] as const)),
    size: about('The size in GB. Container engines do not enforce it.', Type.Integer()),
    mount_point: about('The folder at which the process finds it.', Type.String()),
  }),
  'A volume of a service. It has one writer, so the service is not scaled.',
);

export const StorageRequest = Named(
  'ServiceStorageRequest',
  Type.Object({
    id: Type.Optional(about('The volume to keep, from the record. Without it, the mount point finds it.', Nullable(Uuid))),
    type: about('The only type there is; it chooses nothing.', Words(['FAST_SSD'] as const)),
    size: about('The expected size in GB.', Type.Integer({ minimum: 1, maximum: 65_536 })),
    mount_point: about('The folder at which the process finds it.', Type.String({ pattern: '^/.+', maxLength: 1000 })),
  }),
  'A volume of a service.',
);

const TcpProbe = Named(
  'TcpProbe',
  Type.Object({
    port: about('The port that has to accept connections.', Port),
    host: Type.Optional(about('The host to connect to; null: the instance.', Nullable(Type.String({ maxLength: 255 })))),
  }),
  'Succeeds if a TCP connection is accepted.',
);
const HttpProbe = Named(
  'HttpProbe',
  Type.Object({
    path: Type.Optional(
      about('The path to request, with a leading slash.', Nullable(Type.String({ default: '/', maxLength: 2000 }))),
    ),
    scheme: Type.Optional(
      about(
        'Whether to use TLS; the certificate is not checked.',
        Nullable(Words({ HTTP: 'Without TLS, the default.', HTTPS: 'With TLS, any certificate.' }, { default: 'HTTP' })),
      ),
    ),
    port: about('The port to send the request to.', Port),
  }),
  'Succeeds if the response is 200 to 399.',
);
const ExecProbe = Named(
  'ExecProbe',
  Type.Object({
    command: about(
      'The program and its arguments, run in the instance.',
      Type.Array(Type.String({ maxLength: 10_000 }), { minItems: 1, maxItems: 100 }),
    ),
  }),
  'Succeeds if the command exits with 0.',
);
const GrpcProbe = Named(
  'GrpcProbe',
  Type.Object({
    service: Type.Optional(
      about('The service of gRPC health checking; null: the server.', Nullable(Type.String({ maxLength: 255 }))),
    ),
    port: about('The port of the gRPC server.', Port),
  }),
  'Succeeds if gRPC health checking says SERVING.',
);
const seconds = (byDefault: number, minimum: number) =>
  Type.Optional(Nullable(Type.Integer({ default: byDefault, minimum, maximum: 86_400 })));

/** Exactly one member of `type` is set. */
export const Probe = Named(
  'Probe',
  Type.Object({
    type: Named(
      'ProbeType',
      Type.Object({
        tcp: Type.Optional(about('Opens a TCP connection to a port.', Nullable(TcpProbe))),
        http: Type.Optional(about('Sends an HTTP request.', Nullable(HttpProbe))),
        exec: Type.Optional(about('Runs a command in the instance.', Nullable(ExecProbe))),
        grpc: Type.Optional(about('Asks by gRPC health checking.', Nullable(GrpcProbe))),
      }),
      'The kind of a probe; set exactly one member.',
    ),
    initial_delay_seconds: about('Seconds from the start to the first attempt.', seconds(30, 0)),
    period_seconds: about('Seconds between two attempts.', seconds(10, 1)),
    timeout_seconds: about('Seconds until an attempt counts as failed.', seconds(5, 1)),
    success_threshold: about('Successes in a row after which it succeeded.', seconds(1, 1)),
    failure_threshold: about('Failures in a row after which it failed.', seconds(9, 1)),
  }),
  'A check that is repeated while an instance runs.',
);

export const Healthchecks = Named(
  'Healthchecks',
  Type.Object({
    readiness_probe: Type.Optional(
      about('Only ready instances get requests. Replaces the check of the ports; null: ready when they accept.', Nullable(Probe)),
    ),
    liveness_probe: Type.Optional(about('A failing instance is restarted. null: only an exit counts.', Nullable(Probe))),
  }),
  `The probes of a service. A deployment fails if an instance is not ready within 120 seconds by default; with a readiness
   probe, within its \`initial_delay_seconds\` and as many periods as both thresholds say.`,
);

export const GitRepository = Named(
  'GitRepository',
  Type.Object({
    has_access: Type.Optional(about('Always true: access is checked when it is deployed.', Type.Boolean())),
    provider: about('The host, as derived from `url` or chosen.', Words(gitProviders)),
    owner: about('The owner, as read from `url`.', Type.String()),
    url: about('The http or https URL of the repository.', Type.String()),
    name: about('The name, as read from `url`.', Type.String()),
    branch: Type.Optional(about('The branch. Absent: the default branch.', Type.String())),
    root_path: Type.Optional(about('The folder of the repository that is used.', Type.String())),
    deployed_commit_id: Type.Optional(about('The deployed commit. Absent: none.', Type.String())),
    deployed_commit_date: Type.Optional(about('When that commit was made.', DateTime)),
    deployed_commit_contributor: Type.Optional(about('The author of that commit.', Type.String())),
    deployed_commit_tag: Type.Optional(about('The tag of that commit, if it has one.', Type.String())),
    git_token_id: Type.Optional(about('The git token for access; null: none.', Nullable(Uuid))),
    git_token_name: Type.Optional(about('The name of that token; null: none.', Nullable(Type.String()))),
  }),
  'A git repository, with the deployed commit.',
);

export const GitRepositoryRequest = Named(
  'GitRepositoryRequest',
  Type.Object({
    url: about(
      'An http or https URL, such as `https://git.example.org/owner/name.git`.',
      Type.String({ minLength: 1, maxLength: 2000 }),
    ),
    branch: Type.Optional(
      about('The branch to deploy; null: the default branch.', Nullable(Type.String({ minLength: 1, maxLength: 255 }))),
    ),
    root_path: Type.Optional(
      about('The folder to use; `..` is refused.', Nullable(Type.String({ default: '/', maxLength: 1000 }))),
    ),
    git_token_id: Type.Optional(about('A git token of the organization, for private repositories; null: none.', Nullable(Uuid))),
    provider: Type.Optional(about('The git host; by default derived from `url`.', Nullable(Words(gitProviders)))),
  }),
  'A git repository. With another `url`, members that you leave out get their defaults.',
);

export const Group = Named(
  'GroupReference',
  Type.Object({ id: about('Identifies it; it never changes.', Uuid) }),
  'A group of the organization.',
);

/** Fields that all requests for services that run as processes share. */
export const processFields = {
  storage: Type.Optional(
    about(
      'The volumes. The list replaces the former one; missing volumes lose their data.',
      Nullable(Type.Array(StorageRequest, { maxItems: 50 })),
    ),
  ),
  ports: Type.Optional(
    about('The ports. The list replaces the former one.', Nullable(Type.Array(ServicePortRequest, { maxItems: 100 }))),
  ),
  description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
  cpu: Type.Optional(
    about(
      'The CPU limit of an instance, in millicores; at most `maximum_cpu`.',
      Nullable(Type.Integer({ default: 500, minimum: 10, maximum: 2_147_483_647 })),
    ),
  ),
  memory: Type.Optional(
    about(
      'The memory limit of an instance, in MB; at most `maximum_memory`.',
      Nullable(Type.Integer({ default: 512, minimum: 6, maximum: 2_147_483_647 })),
    ),
  ),
  gpu: Type.Optional(about('GPUs; only 0 is possible.', Nullable(Type.Integer({ default: 0, minimum: 0, maximum: 1024 })))),
  // Newer clients send these two fields. Davit refuses values that it cannot enforce: users would believe that they
  // take effect.
  cpu_architecture: Type.Optional(
    about(
      'Refused if set: the cluster determines the processor.',
      Nullable(Words({ AMD64: 'Intel and AMD processors.', ARM64: 'ARM processors.' })),
    ),
  ),
  ephemeral_storage_in_gib: Type.Optional(
    about('Refused unless 0: it cannot be reserved; use `storage`.', Nullable(Type.Integer({ minimum: 0, maximum: 65_536 }))),
  ),
  min_running_instances: Type.Optional(
    about(
      'The least instances. 0: none run, except with `autoscaling`.',
      Nullable(Type.Integer({ default: 1, minimum: 0, maximum: 1000 })),
    ),
  ),
  max_running_instances: Type.Optional(
    about(
      'The most instances; above the minimum it scales. -1: as the cluster can hold.',
      Nullable(Type.Integer({ default: 1, minimum: -1, maximum: 1000 })),
    ),
  ),
  autoscaling: Type.Optional(
    about('Scaling by events, on Kubernetes with KEDA only. null: by CPU and memory.', Nullable(AutoscalingRequest)),
  ),
  healthchecks: Type.Optional(about('Both probes; the object replaces the former one.', Nullable(Healthchecks))),
  auto_preview: Type.Optional(about('Whether pull requests get a preview with it.', Nullable(Type.Boolean()))),
  auto_deploy: Type.Optional(about('Whether a push, or a notified image, deploys it. Default: false.', Nullable(Type.Boolean()))),
  arguments: Type.Optional(
    about(
      'The arguments of the process; null or empty: those of the image.',
      Nullable(Type.Array(Type.String({ maxLength: 10_000 }), { maxItems: 1000 })),
    ),
  ),
  entrypoint: Type.Optional(
    about('The program, quoted as for a shell; null: that of the image.', Nullable(Type.String({ maxLength: 10_000 }))),
  ),
  annotations_groups: Type.Optional(
    about('The annotation groups; the list replaces the former one.', Nullable(Type.Array(Group, { maxItems: 100 }))),
  ),
  labels_groups: Type.Optional(
    about('The label groups; the list replaces the former one.', Nullable(Type.Array(Group, { maxItems: 100 }))),
  ),
  icon_uri: Type.Optional(
    about('The icon of the service; by default that of its type.', Nullable(Type.String({ minLength: 1, maxLength: 2000 }))),
  ),
};

export const Link = Named(
  'ServiceLink',
  Type.Object({
    service_id: about('The `id` of the service.', Uuid),
    service_type: Words(serviceTypes),
    url: about('The address, with scheme, host and port.', Type.String()),
    internal_port: about('The port at which the process listens.', Count),
    external_port: about('The public port of the address.', Count),
    is_service_domain: about('Whether Davit gave the host; false for a custom domain.', Type.Boolean()),
    is_default: about('Whether it leads to the default port.', Type.Boolean()),
  }),
  'An address at which a service answers.',
);

export const Log = Named(
  'ServiceLog',
  Type.Object({
    id: about('Identifies the line.', Uuid),
    created_at: about('When the line was printed.', DateTime),
    message: about('The text of the line, without secrets.', Type.String()),
    pod_name: Type.Optional(about('The instance that printed it; `davit`: Davit itself.', Type.String())),
    version: Type.Optional(about('The `id` of the release that ran.', Type.String())),
  }),
  'A line that an instance printed.',
);
