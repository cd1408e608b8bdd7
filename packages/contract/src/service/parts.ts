import Type from 'typebox';
import { Count, DateTime, Nullable, Text, Uuid, Words, Named } from '../shape.ts';
import { AutoscalingRequest } from './autoscaling.ts';
import { gitProviders, portProtocols, serviceTypes } from '../shared/words.ts';

const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

export const ServicePort = Named(
  'ServicePort',
  Type.Object({
    id: Uuid,
    name: Type.Optional(Type.String()),
    internal_port: Type.Integer(),
    external_port: Type.Optional(Type.Integer()),
    publicly_accessible: Type.Boolean(),
    is_default: Type.Optional(Type.Boolean()),
    protocol: Words(portProtocols, { default: 'HTTP' }),
    public_path: Type.Optional(Type.String()),
    public_path_rewrite: Type.Optional(Type.String()),
  }),
);

const path = Type.String({ pattern: '^/', maxLength: 1000 });

export const ServicePortRequest = Named(
  'ServicePortRequest',
  Type.Object({
    id: Type.Optional(Nullable(Uuid)),
    name: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 63 }))),
    internal_port: Port,
    external_port: Type.Optional(Nullable(Port)),
    publicly_accessible: Type.Boolean(),
    is_default: Type.Optional(Nullable(Type.Boolean())),
    protocol: Type.Optional(Nullable(Words(portProtocols, { default: 'HTTP' }))),
    public_path: Type.Optional(Nullable(path)),
    public_path_rewrite: Type.Optional(Nullable(path)),
  }),
);

export const Storage = Named(
  'ServiceStorage',
  Type.Object({
    id: Uuid,
    type: Words(['FAST_SSD'] as const),
    size: Type.Integer(),
    mount_point: Type.String(),
  }),
);

export const StorageRequest = Named(
  'ServiceStorageRequest',
  Type.Object({
    id: Type.Optional(Nullable(Uuid)),
    type: Words(['FAST_SSD'] as const),
    size: Type.Integer({ minimum: 1, maximum: 65_536 }),
    mount_point: Type.String({ pattern: '^/.+', maxLength: 1000 }),
  }),
);

const TcpProbe = Named('TcpProbe', Type.Object({ port: Port, host: Type.Optional(Nullable(Type.String({ maxLength: 255 }))) }));
const HttpProbe = Named(
  'HttpProbe',
  Type.Object({
    path: Type.Optional(Nullable(Type.String({ default: '/', maxLength: 2000 }))),
    scheme: Type.Optional(Nullable(Words(['HTTP', 'HTTPS'] as const, { default: 'HTTP' }))),
    port: Port,
  }),
);
const ExecProbe = Named(
  'ExecProbe',
  Type.Object({ command: Type.Array(Type.String({ maxLength: 10_000 }), { minItems: 1, maxItems: 100 }) }),
);
const GrpcProbe = Named(
  'GrpcProbe',
  Type.Object({ service: Type.Optional(Nullable(Type.String({ maxLength: 255 }))), port: Port }),
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
        tcp: Type.Optional(Nullable(TcpProbe)),
        http: Type.Optional(Nullable(HttpProbe)),
        exec: Type.Optional(Nullable(ExecProbe)),
        grpc: Type.Optional(Nullable(GrpcProbe)),
      }),
    ),
    initial_delay_seconds: seconds(30, 0),
    period_seconds: seconds(10, 1),
    timeout_seconds: seconds(5, 1),
    success_threshold: seconds(1, 1),
    failure_threshold: seconds(9, 1),
  }),
);

export const Healthchecks = Named(
  'Healthchecks',
  Type.Object({
    readiness_probe: Type.Optional(Nullable(Probe)),
    liveness_probe: Type.Optional(Nullable(Probe)),
  }),
);

export const GitRepository = Named(
  'GitRepository',
  Type.Object({
    has_access: Type.Optional(Type.Boolean()),
    provider: Words(gitProviders),
    owner: Type.String(),
    url: Type.String(),
    name: Type.String(),
    branch: Type.Optional(Type.String()),
    root_path: Type.Optional(Type.String()),
    deployed_commit_id: Type.Optional(Type.String()),
    deployed_commit_date: Type.Optional(DateTime),
    deployed_commit_contributor: Type.Optional(Type.String()),
    deployed_commit_tag: Type.Optional(Type.String()),
    git_token_id: Type.Optional(Nullable(Uuid)),
    git_token_name: Type.Optional(Nullable(Type.String())),
  }),
);

export const GitRepositoryRequest = Named(
  'GitRepositoryRequest',
  Type.Object({
    url: Type.String({ minLength: 1, maxLength: 2000 }),
    branch: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 255 }))),
    root_path: Type.Optional(Nullable(Type.String({ default: '/', maxLength: 1000 }))),
    git_token_id: Type.Optional(Nullable(Uuid)),
    provider: Type.Optional(Nullable(Words(gitProviders))),
  }),
);

export const Group = Named('GroupReference', Type.Object({ id: Uuid }));

/** Fields that all requests for services that run as processes share. */
export const processFields = {
  storage: Type.Optional(Nullable(Type.Array(StorageRequest, { maxItems: 50 }))),
  ports: Type.Optional(Nullable(Type.Array(ServicePortRequest, { maxItems: 100 }))),
  description: Type.Optional(Nullable(Text)),
  cpu: Type.Optional(Nullable(Type.Integer({ default: 500, minimum: 10, maximum: 2_147_483_647 }))),
  memory: Type.Optional(Nullable(Type.Integer({ default: 512, minimum: 6, maximum: 2_147_483_647 }))),
  gpu: Type.Optional(Nullable(Type.Integer({ default: 0, minimum: 0, maximum: 1024 }))),
  // Newer clients send these two fields. Davit refuses values that it cannot enforce: users would believe that they
  // take effect.
  cpu_architecture: Type.Optional(Nullable(Words(['AMD64', 'ARM64'] as const))),
  ephemeral_storage_in_gib: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 65_536 }))),
  min_running_instances: Type.Optional(Nullable(Type.Integer({ default: 1, minimum: 0, maximum: 1000 }))),
  max_running_instances: Type.Optional(Nullable(Type.Integer({ default: 1, minimum: -1, maximum: 1000 }))),
  autoscaling: Type.Optional(Nullable(AutoscalingRequest)),
  healthchecks: Type.Optional(Nullable(Healthchecks)),
  auto_preview: Type.Optional(Nullable(Type.Boolean())),
  auto_deploy: Type.Optional(Nullable(Type.Boolean())),
  arguments: Type.Optional(Nullable(Type.Array(Type.String({ maxLength: 10_000 }), { maxItems: 1000 }))),
  entrypoint: Type.Optional(Nullable(Type.String({ maxLength: 10_000 }))),
  annotations_groups: Type.Optional(Nullable(Type.Array(Group, { maxItems: 100 }))),
  labels_groups: Type.Optional(Nullable(Type.Array(Group, { maxItems: 100 }))),
  icon_uri: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 2000 }))),
};

export const Link = Named(
  'ServiceLink',
  Type.Object({
    service_id: Uuid,
    service_type: Words(serviceTypes),
    url: Type.String(),
    internal_port: Count,
    external_port: Count,
    is_service_domain: Type.Boolean(),
    is_default: Type.Boolean(),
  }),
);

export const Log = Named(
  'ServiceLog',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    message: Type.String(),
    pod_name: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
  }),
);
