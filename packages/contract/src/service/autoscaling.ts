import Type from 'typebox';
import { about, DateTime, Named, Nullable, Uuid, Words } from '../shape.ts';
import { scalerRoles } from '../shared/words.ts';

const mode = about('Scaling by events; KEDA is the only way.', Words(['KEDA'] as const));
const Config = Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true });
const Yaml = Type.String({ maxLength: 20_000 });

const TriggerAuthenticationRequest = Named(
  'ScalerAuthenticationRequest',
  Type.Object({
    name: about('Its name. Scalers with the same name share the content.', Type.String({ minLength: 1, maxLength: 255 })),
    config_yaml: Type.Optional(
      about('YAML with `env`, `secretTargetRef` or `configMapTargetRef`, and no secrets.', Nullable(Yaml)),
    ),
  }),
  'Where a scaler finds its secrets, without containing any.',
);

const ScalerRequest = Named(
  'ScalerRequest',
  Type.Object({
    scaler_type: about(
      'The type of the KEDA trigger, such as `rabbitmq`.',
      Type.String({ minLength: 1, maxLength: 100, pattern: '^[a-z0-9][a-z0-9.-]*$' }),
    ),
    enabled: Type.Optional(about('false leaves the scaler out.', Nullable(Type.Boolean({ default: true })))),
    role: Words(scalerRoles),
    config_json: Type.Optional(about('The `metadata` of the trigger, as an object.', Nullable(Config))),
    config_yaml: Type.Optional(about('The `metadata` of the trigger, as YAML.', Nullable(Yaml))),
    trigger_authentication: Type.Optional(
      about('Where it finds its secrets; null: it needs none.', Nullable(TriggerAuthenticationRequest)),
    ),
  }),
  'An event source. Set exactly one of `config_json` and `config_yaml`, without secrets.',
);

/** Exactly one of a scaler's `config_json` and `config_yaml` is set. */
export const AutoscalingRequest = Named(
  'AutoscalingRequest',
  Type.Object({
    mode: about('How it scales; KEDA is the only way.', mode),
    polling_interval_seconds: Type.Optional(
      about(
        'Seconds between two queries of the event sources.',
        Nullable(Type.Integer({ default: 30, minimum: 1, maximum: 86_400 })),
      ),
    ),
    cooldown_period_seconds: Type.Optional(
      about(
        'Seconds after the last event before it scales to 0.',
        Nullable(Type.Integer({ default: 300, minimum: 0, maximum: 86_400 })),
      ),
    ),
    scalers: about(
      'The event sources; the one that asks for the most instances wins.',
      Type.Array(ScalerRequest, { minItems: 1, maxItems: 20 }),
    ),
  }),
  'Scaling by events, on a Kubernetes cluster with KEDA; not with volumes.',
);

const times = {
  created_at: about('When it was created.', DateTime),
  updated_at: Type.Optional(about('When it was last changed.', DateTime)),
};

const TriggerAuthentication = Named(
  'ScalerAuthentication',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    ...times,
    organization_id: about('The organization that owns the service.', Type.String()),
    name: about('The name; scalers that share it share its content.', Type.String()),
    config_yaml: Type.Optional(about('The references to secrets, as YAML.', Type.String())),
  }),
  'Where a scaler finds its secrets.',
);

const Scaler = Named(
  'Scaler',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    ...times,
    scaler_type: about('The type of the KEDA trigger.', Type.String()),
    enabled: about('Whether the scaler is used.', Type.Boolean()),
    role: Words(scalerRoles),
    config_json: Type.Optional(about('The `metadata` of the trigger, as an object.', Nullable(Config))),
    config_yaml: Type.Optional(about('The `metadata` of the trigger, as YAML.', Nullable(Type.String()))),
    trigger_authentication: Type.Optional(about('Where it finds its secrets. Absent: it needs none.', TriggerAuthentication)),
  }),
  'An event source of a service.',
);

export const Autoscaling = Named(
  'Autoscaling',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    ...times,
    service_id: about('The service that scales.', Uuid),
    mode: about('How it scales; KEDA is the only way.', mode),
    polling_interval_seconds: about('Seconds between two queries of the event sources.', Type.Integer()),
    cooldown_period_seconds: about('Seconds after the last event before it scales to 0.', Type.Integer()),
    scalers: about('The event sources.', Type.Array(Scaler)),
  }),
  'Scaling of a service by events.',
);
