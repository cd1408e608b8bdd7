import Type from 'typebox';
import { DateTime, Nullable, Uuid, Words, Named } from '../shape.ts';
import { serviceScopes, serviceTypes, variableScopes, variableTypes } from '../shared/words.ts';

const related = {
  id: Uuid,
  key: Type.String(),
  // An empty string for variables that are no file: clients accept no null here.
  mount_path: Type.String(),
  scope: Words(variableScopes),
  variable_type: Words(variableTypes),
};
const common = {
  id: Uuid,
  created_at: DateTime,
  updated_at: Type.Optional(DateTime),
  key: Type.String(),
  description: Type.Optional(Nullable(Type.String())),
  enable_interpolation_in_file: Type.Optional(Nullable(Type.Boolean())),
  scope: Words(variableScopes),
  service_id: Type.Optional(Uuid),
  service_name: Type.Optional(Type.String()),
  service_type: Type.Optional(Words(serviceTypes)),
  owned_by: Type.Optional(Type.String()),
};

const RelatedVariable = Named('RelatedVariable', Type.Object({ ...related, value: Type.String() }));
const RelatedSecret = Named(
  'RelatedSecret',
  Type.Object({
    ...related,
    description: Type.Optional(Nullable(Type.String())),
    enable_interpolation_in_file: Type.Optional(Nullable(Type.Boolean())),
  }),
);
const RelatedAny = Named('RelatedAnyVariable', Type.Object({ ...related, value: Type.Optional(Nullable(Type.String())) }));

export const EnvironmentVariable = Named(
  'EnvironmentVariable',
  Type.Object({
    ...common,
    value: Type.Optional(Type.String()),
    mount_path: Type.Optional(Nullable(Type.String())),
    variable_type: Words(variableTypes),
    overridden_variable: Type.Optional(RelatedVariable),
    aliased_variable: Type.Optional(RelatedVariable),
  }),
);

/** The record of a secret. It never contains the value. */
export const Secret = Named(
  'Secret',
  Type.Object({
    ...common,
    mount_path: Type.Optional(Nullable(Type.String())),
    variable_type: Type.Optional(Words(variableTypes)),
    overridden_secret: Type.Optional(RelatedSecret),
    aliased_secret: Type.Optional(RelatedSecret),
  }),
);

/** Variables and secrets in one list: `value` is null for secrets. */
export const Variable = Named(
  'Variable',
  Type.Object({
    ...common,
    value: Nullable(Type.String()),
    mount_path: Type.Optional(Nullable(Type.String())),
    variable_type: Words(variableTypes),
    overridden_variable: Type.Optional(RelatedAny),
    aliased_variable: Type.Optional(RelatedAny),
    is_secret: Type.Boolean(),
    description: Type.Optional(Type.String()),
    enable_interpolation_in_file: Type.Optional(Type.Boolean()),
  }),
);

const description = Type.Optional(Nullable(Type.String({ maxLength: 255 })));
const interpolation = Type.Optional(Nullable(Type.Boolean()));
const key = Type.String({ minLength: 1, maxLength: 255 });
const Value = Type.String({ maxLength: 524_288 });
const value = Type.Optional(Nullable(Value));
const path = Type.Optional(Nullable(Type.String({ maxLength: 1000 })));
const notes = { description, enable_interpolation_in_file: interpolation };

export const KeyedRequest = Named('VariableOrSecretRequest', Type.Object({ key, value, mount_path: path, ...notes }));
export const SecretEditRequest = Named('SecretEditRequest', Type.Object({ key, value, ...notes }));
export const KeyedEditRequest = Named('EnvironmentVariableEditRequest', Type.Object({ key, value, mount_path: path, ...notes }));
export const AliasRequest = Named('ScopedAliasRequest', Type.Object({ key, ...notes }));
export const OverrideRequest = Named('ScopedOverrideRequest', Type.Object({ value, ...notes }));

/**
 * The scope of a variable: one of the types and the id of the record that has the variable. BUILT_IN occurs only in
 * responses.
 */
const scope = Words(variableScopes);

export const VariableQuery = Type.Object({
  parent_id: Uuid,
  scope,
  is_secret: Type.Optional(Nullable(Type.Boolean())),
});
export const VariableRequest = Named(
  'VariableRequest',
  Type.Object({
    key,
    value: Value,
    mount_path: path,
    is_secret: Type.Boolean(),
    variable_scope: scope,
    variable_parent_id: Uuid,
    ...notes,
  }),
);
export const VariableEditRequest = Named('VariableEditRequest', Type.Object({ key, value, ...notes }));
export const VariableAliasRequest = Named(
  'VariableAliasRequest',
  Type.Object({ key, alias_scope: scope, alias_parent_id: Uuid, ...notes }),
);
export const VariableOverrideRequest = Named(
  'VariableOverrideRequest',
  Type.Object({
    value: Value,
    override_scope: scope,
    override_parent_id: Uuid,
    ...notes,
  }),
);

export const ImportQuery = Type.Object({ service_id: Uuid, service_type: Words(serviceScopes) });
export const ImportRequest = Named(
  'VariableImportRequest',
  Type.Object({
    overwrite: Type.Boolean({ default: false }),
    vars: Type.Array(Named('VariableToImport', Type.Object({ name: key, value: Value, scope, is_secret: Type.Boolean() })), {
      maxItems: 1000,
    }),
  }),
);
export const Import = Named(
  'VariableImport',
  Type.Object({
    total_variables_to_import: Type.Integer(),
    successful_imported_variables: Type.Array(
      Named(
        'ImportedVariable',
        Type.Object({ name: Type.String(), value: Type.Optional(Type.String()), scope, is_secret: Type.Boolean() }),
      ),
    ),
  }),
);
