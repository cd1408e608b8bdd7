import Type from 'typebox';
import { about, DateTime, Named, Nullable, Uuid, Words } from '../shape.ts';
import { serviceScopes, serviceTypes, variableScopes, variableTypes } from '../shared/words.ts';

const related = {
  id: about('The `id` of the variable.', Uuid),
  key: about('The key of the variable.', Type.String()),
  // An empty string for variables that are no file: clients accept no null here.
  mount_path: about('The path of the file; empty if it is none.', Type.String()),
  scope: Words(variableScopes),
  variable_type: Words(variableTypes),
};
const common = {
  id: about('Identifies it; it never changes.', Uuid),
  created_at: about('When it was created.', DateTime),
  updated_at: Type.Optional(about('When it was last changed.', DateTime)),
  key: about('The name in the environment of the process.', Type.String()),
  description: Type.Optional(about('What it is for; null: empty.', Nullable(Type.String()))),
  enable_interpolation_in_file: Type.Optional(about('Whether `{{KEY}}` is replaced in the file.', Nullable(Type.Boolean()))),
  scope: Words(variableScopes),
  service_id: Type.Optional(about('The service that it belongs to or comes from. Absent: none.', Uuid)),
  service_name: Type.Optional(about('The name of that service.', Type.String())),
  service_type: Type.Optional(Words(serviceTypes)),
  owned_by: Type.Optional(about('Always `Davit`.', Type.String())),
};

const RelatedVariable = Named(
  'RelatedVariable',
  Type.Object({ ...related, value: about('The value of the variable.', Type.String()) }),
  'A variable that an alias or override refers to.',
);
const RelatedSecret = Named(
  'RelatedSecret',
  Type.Object({
    ...related,
    description: Type.Optional(about('What it is for; null: empty.', Nullable(Type.String()))),
    enable_interpolation_in_file: Type.Optional(about('Whether `{{KEY}}` is replaced in the file.', Nullable(Type.Boolean()))),
  }),
  'A secret that an alias or override refers to.',
);
const RelatedAny = Named(
  'RelatedAnyVariable',
  Type.Object({ ...related, value: Type.Optional(about('The value; null for a secret.', Nullable(Type.String()))) }),
  'A variable or secret that an alias or override refers to.',
);

export const EnvironmentVariable = Named(
  'EnvironmentVariable',
  Type.Object({
    ...common,
    value: Type.Optional(about('Its value, with `{{KEY}}` as written.', Type.String())),
    mount_path: Type.Optional(about('The path of the file; null if it is none.', Nullable(Type.String()))),
    variable_type: Words(variableTypes),
    overridden_variable: Type.Optional(about('Present if it is an override.', RelatedVariable)),
    aliased_variable: Type.Optional(about('Present if it is an alias.', RelatedVariable)),
  }),
  'A variable as its scope sees it.',
);

/** The record of a secret. It never contains the value. */
export const Secret = Named(
  'Secret',
  Type.Object({
    ...common,
    mount_path: Type.Optional(about('The path of the file; null if it is none.', Nullable(Type.String()))),
    variable_type: Type.Optional(Words(variableTypes)),
    overridden_secret: Type.Optional(about('Present if it is an override.', RelatedSecret)),
    aliased_secret: Type.Optional(about('Present if it is an alias.', RelatedSecret)),
  }),
  'A secret as its scope sees it. The value is never shown.',
);

/** Variables and secrets in one list: `value` is null for secrets. */
export const Variable = Named(
  'Variable',
  Type.Object({
    ...common,
    value: about('Its value, with `{{KEY}}` as written; null for a secret.', Nullable(Type.String())),
    mount_path: Type.Optional(about('The path of the file; null if it is none.', Nullable(Type.String()))),
    variable_type: Words(variableTypes),
    overridden_variable: Type.Optional(about('Present if it is an override.', RelatedAny)),
    aliased_variable: Type.Optional(about('Present if it is an alias.', RelatedAny)),
    is_secret: about('Whether the value is never shown.', Type.Boolean()),
    description: Type.Optional(about('What it is for. Absent: empty.', Type.String())),
    enable_interpolation_in_file: Type.Optional(about('Whether `{{KEY}}` is replaced in the file.', Type.Boolean())),
  }),
  'A variable or secret, as the scope of the request sees it.',
);

const description = Type.Optional(Nullable(Type.String({ maxLength: 255 })));
const interpolation = Type.Optional(Nullable(Type.Boolean()));
const key = Type.String({ minLength: 1, maxLength: 255 });
const keyRule = 'Letters, digits and `_`; it may not begin with a digit, `__` or `DAVIT_`.';
const Value = Type.String({ maxLength: 524_288 });
const value = Type.Optional(Nullable(Value));
const path = Type.Optional(Nullable(Type.String({ maxLength: 1000 })));
const notes = {
  description: about('What it is for; null: empty.', description),
  enable_interpolation_in_file: about('Whether `{{KEY}}` is replaced in the file; by default not.', interpolation),
};

export const KeyedRequest = Named(
  'VariableOrSecretRequest',
  Type.Object({
    key: about(keyRule, key),
    value: about('The value, at most 128 KiB unless a file; `{{KEY}}` stands for another one. Default: empty.', value),
    mount_path: about('Makes it a file at this path, with the path as the variable.', path),
    ...notes,
  }),
  'A variable or secret to create.',
);
export const SecretEditRequest = Named(
  'SecretEditRequest',
  Type.Object({
    key: about('Its key; the same one or a new one.', key),
    value: about('Its new value. Without it, the value stays.', value),
    ...notes,
  }),
  'The new values of a secret.',
);
export const KeyedEditRequest = Named(
  'EnvironmentVariableEditRequest',
  Type.Object({
    key: about('Its key; the same one or a new one.', key),
    value: about('Its new value. Without it, the value stays.', value),
    mount_path: about('Makes it a file; null: an ordinary variable again. Without it, it stays.', path),
    ...notes,
  }),
  'The new values of a variable.',
);
export const AliasRequest = Named(
  'ScopedAliasRequest',
  Type.Object({ key: about('The second key of the variable.', key), ...notes }),
  'An alias to create here.',
);
export const OverrideRequest = Named(
  'ScopedOverrideRequest',
  Type.Object({ value: about('The value at this scope.', value), ...notes }),
  'An override to create.',
);

/**
 * The scope of a variable: one of the types and the id of the record that has the variable. BUILT_IN occurs only in
 * responses.
 */
const scope = Words(variableScopes);

export const VariableQuery = Type.Object({
  parent_id: about('The project, environment or service that sees them.', Uuid),
  scope: about('The type of that record.', scope),
  is_secret: Type.Optional(about('Only secrets, or only variables. Without it: both.', Nullable(Type.Boolean()))),
});
export const VariableRequest = Named(
  'VariableRequest',
  Type.Object({
    key: about(keyRule, key),
    value: about('The value, at most 128 KiB unless a file; `{{KEY}}` stands for another one.', Value),
    mount_path: about('Makes it a file at this path, with the path as the variable.', path),
    is_secret: about('Whether the value is never shown again; it cannot change later.', Type.Boolean()),
    variable_scope: about('The type of the record that gets it.', scope),
    variable_parent_id: about('The project, environment or service that gets it.', Uuid),
    ...notes,
  }),
  'A variable or secret to create.',
);
export const VariableEditRequest = Named(
  'VariableEditRequest',
  Type.Object({
    key: about('Its key; the same one or a new one.', key),
    value: about('Its new value. Without it, the value stays.', value),
    ...notes,
  }),
  'The new values of a variable or secret.',
);
export const VariableAliasRequest = Named(
  'VariableAliasRequest',
  Type.Object({
    key: about('The second key of the variable.', key),
    alias_scope: about('The type of the record that gets it.', scope),
    alias_parent_id: about('The record that gets it.', Uuid),
    ...notes,
  }),
  `An alias to create, at the variable's scope or a narrower one.`,
);
export const VariableOverrideRequest = Named(
  'VariableOverrideRequest',
  Type.Object({
    value: about('The value at that scope.', Value),
    override_scope: about('The type of the record that gets it.', scope),
    override_parent_id: about('The record that gets it.', Uuid),
    ...notes,
  }),
  `An override to create, at a narrower scope than the variable's.`,
);

export const ImportQuery = Type.Object({
  service_id: about('The service to import into.', Uuid),
  service_type: about('The type of that service.', Words(serviceScopes)),
});
export const ImportRequest = Named(
  'VariableImportRequest',
  Type.Object({
    overwrite: about(
      'Whether existing keys get the new values; inherited ones by an override.',
      Type.Boolean({ default: false }),
    ),
    vars: about(
      'The variables and secrets, at most 1,000.',
      Type.Array(
        Named(
          'VariableToImport',
          Type.Object({
            name: about('The key of the variable.', key),
            value: about('The value of the variable.', Value),
            scope: about('Where to put it: the service, its environment or its project.', scope),
            is_secret: about('Whether the value is never shown again.', Type.Boolean()),
          }),
          'A variable or secret to import.',
        ),
        {
          maxItems: 1000,
        },
      ),
    ),
  }),
  'Variables and secrets to import.',
);
export const Import = Named(
  'VariableImport',
  Type.Object({
    total_variables_to_import: about('How many the request had.', Type.Integer()),
    successful_imported_variables: about(
      'What was written; the others were left as they are.',
      Type.Array(
        Named(
          'ImportedVariable',
          Type.Object({
            name: about('The key of the variable.', Type.String()),
            value: Type.Optional(about('Its value; absent for a secret.', Type.String())),
            scope: about('Where it was put.', scope),
            is_secret: about('Whether it is a secret.', Type.Boolean()),
          }),
          'A variable or secret that was written.',
        ),
      ),
    ),
  }),
  'The result of an import.',
);
