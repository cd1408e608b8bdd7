import Type from 'typebox';
import { DateTime, Nullable, Uuid, Words } from '../shape.ts';
import { serviceTypes, variableScopes, variableTypes } from '../shared/words.ts';

const related = {
  id: Uuid,
  key: Type.String(),
  mount_path: Nullable(Type.String()),
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

const RelatedVariable = Type.Object({ ...related, value: Type.String() });
const RelatedSecret = Type.Object(related);

export const EnvironmentVariable = Type.Object({
  ...common,
  value: Type.Optional(Type.String()),
  mount_path: Type.Optional(Nullable(Type.String())),
  variable_type: Words(variableTypes),
  overridden_variable: Type.Optional(RelatedVariable),
  aliased_variable: Type.Optional(RelatedVariable),
});

/** A secret's record: its value is never in it. */
export const Secret = Type.Object({
  ...common,
  mount_path: Type.Optional(Nullable(Type.String())),
  variable_type: Type.Optional(Words(variableTypes)),
  overridden_secret: Type.Optional(RelatedSecret),
  aliased_secret: Type.Optional(RelatedSecret),
});

const description = Type.Optional(Nullable(Type.String({ maxLength: 255 })));
const interpolation = Type.Optional(Nullable(Type.Boolean()));
const key = Type.String({ minLength: 1, maxLength: 255 });
const value = Type.Optional(Nullable(Type.String({ maxLength: 524_288 })));

export const VariableRequest = Type.Object({
  key,
  value,
  mount_path: Type.Optional(Nullable(Type.String({ maxLength: 1000 }))),
  description,
  enable_interpolation_in_file: interpolation,
});

export const VariableEditRequest = Type.Object({
  key,
  value,
  description,
  enable_interpolation_in_file: interpolation,
});

export const AliasRequest = Type.Object({ key, description, enable_interpolation_in_file: interpolation });
