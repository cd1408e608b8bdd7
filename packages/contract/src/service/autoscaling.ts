import Type from 'typebox';
import { DateTime, Nullable, Uuid, Words, Named } from '../shape.ts';
import { scalerRoles } from '../shared/words.ts';

const mode = Words(['KEDA'] as const);
const Config = Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true });
const Yaml = Type.String({ maxLength: 20_000 });

const TriggerAuthenticationRequest = Named(
  'ScalerAuthenticationRequest',
  Type.Object({
    name: Type.String({ minLength: 1, maxLength: 255 }),
    config_yaml: Type.Optional(Nullable(Yaml)),
  }),
);

const ScalerRequest = Named(
  'ScalerRequest',
  Type.Object({
    scaler_type: Type.String({ minLength: 1, maxLength: 100, pattern: '^[a-z0-9][a-z0-9.-]*$' }),
    enabled: Type.Optional(Nullable(Type.Boolean({ default: true }))),
    role: Words(scalerRoles),
    config_json: Type.Optional(Nullable(Config)),
    config_yaml: Type.Optional(Nullable(Yaml)),
    trigger_authentication: Type.Optional(Nullable(TriggerAuthenticationRequest)),
  }),
);

/** Exactly one of a scaler's `config_json` and `config_yaml` is set. */
export const AutoscalingRequest = Named(
  'AutoscalingRequest',
  Type.Object(
    {
      mode,
      polling_interval_seconds: Type.Optional(Nullable(Type.Integer({ default: 30, minimum: 1, maximum: 86_400 }))),
      cooldown_period_seconds: Type.Optional(Nullable(Type.Integer({ default: 300, minimum: 0, maximum: 86_400 }))),
      scalers: Type.Array(ScalerRequest, { minItems: 1, maxItems: 20 }),
    },
    {
      description:
        'Scaling by events, on a Kubernetes cluster with KEDA. null: by cpu and memory between the numbers of instances',
    },
  ),
);

const times = { created_at: DateTime, updated_at: Type.Optional(DateTime) };

const TriggerAuthentication = Named(
  'ScalerAuthentication',
  Type.Object({
    id: Uuid,
    ...times,
    organization_id: Type.String(),
    name: Type.String(),
    config_yaml: Type.Optional(Type.String()),
  }),
);

const Scaler = Named(
  'Scaler',
  Type.Object({
    id: Uuid,
    ...times,
    scaler_type: Type.String(),
    enabled: Type.Boolean(),
    role: Words(scalerRoles),
    config_json: Type.Optional(Nullable(Config)),
    config_yaml: Type.Optional(Nullable(Type.String())),
    trigger_authentication: Type.Optional(TriggerAuthentication),
  }),
);

export const Autoscaling = Named(
  'Autoscaling',
  Type.Object({
    id: Uuid,
    ...times,
    service_id: Uuid,
    mode,
    polling_interval_seconds: Type.Integer(),
    cooldown_period_seconds: Type.Integer(),
    scalers: Type.Array(Scaler),
  }),
);
