import type { TSchema } from 'typebox';
import { byId, operation, type ById, type Operation, type Target } from '../operation.ts';
import { List } from '../shape.ts';
import {
  AliasRequest,
  EnvironmentVariable,
  Import,
  ImportRequest,
  KeyedEditRequest,
  KeyedRequest,
  OverrideRequest,
  Secret,
  SecretEditRequest,
} from './shapes.ts';

/** The names of a scope in paths and operation ids: `/project/{projectId}/…`, `listProject…`. */
export interface ScopeWords {
  readonly tag: string;
  readonly target: Target;
  /** The noun with its article, for summaries. */
  readonly noun: string;
  readonly Noun: string;
  readonly segment: string;
  readonly parameter: string;
}

interface SortWords {
  readonly noun: string;
  readonly Noun: string;
  readonly Nouns: string;
  readonly segment: string;
  readonly parameter: string;
  readonly record: TSchema;
  readonly edit: TSchema;
}

const variable = {
  noun: 'variable',
  Noun: 'EnvironmentVariable',
  Nouns: 'EnvironmentVariable',
  segment: 'environmentVariable',
  parameter: 'environmentVariableId',
  record: EnvironmentVariable,
  edit: KeyedEditRequest,
} as const satisfies SortWords;

const secret = {
  noun: 'secret',
  Noun: 'Secret',
  Nouns: 'Secrets',
  segment: 'secret',
  parameter: 'secretId',
  record: Secret,
  edit: SecretEditRequest,
} as const satisfies SortWords;

// Each constant has its own annotation: otherwise template literals lose the literal types, and with them the types of
// ids and path parameters.
function paths<const S extends ScopeWords, const T extends SortWords>(scope: S, sort: T) {
  const segment: S['segment'] = scope.segment;
  const parameter: S['parameter'] = scope.parameter;
  const sortSegment: T['segment'] = sort.segment;
  const sortParameter: T['parameter'] = sort.parameter;
  const at = `/${segment}/{${parameter}}/${sortSegment}` as const;
  return { at, one: `${at}/{${sortParameter}}` as const };
}

const taken = 'The key exists here or is inherited.';
const fixed = 'It is built in, an output, the key of an override or the value of an alias.';

/** A project or an environment replaces an ordinary variable of the same key; see `createVariable` in the server. */
function takenByOther({ segment }: SortWords): string {
  const other = segment === 'secret' ? 'variable' : 'secret';
  return `The key is inherited, or exists here as an alias, an override or a ${other}.`;
}

const nothingToOverride = `
  Always refused, because a project inherits nothing. Override the variables of a project at an environment or a
  service.
`;

function overrides(noun: string): string {
  return `
        Gives an inherited ${noun} another value here and below. The key stays that of the ${noun}.
        Built-in variables cannot be overridden.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`KEY_TAKEN\` (409) | The key is defined here already. | Edit that one. |
  `;
}

/** Returns the operations on variables or secrets that are defined at the scope itself. */
function rowOperations<const S extends ScopeWords, const T extends SortWords>(scope: S, sort: T) {
  const { tag, target }: ScopeWords = scope;
  const Noun: S['Noun'] = scope.Noun;
  const SortNoun: T['Noun'] = sort.Noun;
  const record: T['record'] = sort.record;
  const SortNouns: T['Nouns'] = sort.Nouns;
  const edit: T['edit'] = sort.edit;
  const { at, one } = paths(scope, sort);
  return {
    list: operation({
      id: `list${Noun}${SortNouns}` as const,
      method: 'GET',
      path: at,
      tag,
      summary: `List the ${sort.noun}s of ${scope.noun}`,
      description: `
        Returns the ${sort.noun}s that ${scope.noun} sees: its own${target === 'project' ? '' : ', inherited'} and built-in
        ones. The field \`scope\` of each says where it is defined.
      `,
      scope: 'READ',
      target,
      status: 200,
      response: List(record),
      errors: [],
    }),
    create: operation({
      id: `create${Noun}${SortNoun}` as const,
      method: 'POST',
      path: at,
      tag,
      summary: `Create a ${sort.noun} of ${scope.noun}`,
      description: `
        Adds a ${sort.noun}; with \`mount_path\` the process finds the value in a file. Services see it from their
        next deployment on, and are OUT_OF_DATE until then.${target === 'service' ? '' : ' An existing key gets the new value.'}

        | Code | Cause | Remedy |
        |---|---|---|
        | \`KEY_TAKEN\` (409) | ${target === 'service' ? taken : takenByOther(sort)} | Edit it, or create an override. |
        | \`VARIABLE_CYCLE\` (400) | The value refers to itself through \`{{KEY}}\`. | Remove a reference of the cycle. |
      `,
      scope: 'WRITE',
      target,
      body: KeyedRequest,
      status: 201,
      response: record,
      errors: [400, 409],
    }),
    edit: operation({
      id: `edit${Noun}${SortNoun}` as const,
      method: 'PUT',
      path: one,
      tag,
      summary: `Edit a ${sort.noun} of ${scope.noun}`,
      description: `
        Changes the key or the value. Its aliases have the new value, its overrides the new
        key. Services see it from their next deployment on, and are OUT_OF_DATE until then.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`KEY_TAKEN\` (409) | The new key exists here or is inherited. | Choose another key. |
        | \`VARIABLE_NOT_EDITABLE\` (400) | ${fixed} | Change what it comes from. |
        | \`VARIABLE_CYCLE\` (400) | The value refers to itself through \`{{KEY}}\`. | Remove a reference of the cycle. |
      `,
      scope: 'WRITE',
      target,
      body: edit,
      status: 200,
      response: record,
      errors: [400, 409],
    }),
    remove: operation({
      id: `delete${Noun}${SortNoun}` as const,
      method: 'DELETE',
      path: one,
      tag,
      summary: `Delete a ${sort.noun} of ${scope.noun}`,
      description: `
        Deletes the ${sort.noun} with its aliases and overrides. Running processes keep the value until their next
        deployment. Built-in and inherited ones, and outputs of jobs, cannot be deleted here.
      `,
      scope: 'WRITE',
      target,
      status: 204,
      response: null,
      errors: [400],
    }),
  };
}

/**
 * Returns the operations that create an alias (another key) or an override (another value) at this scope for a variable
 * or secret that is visible there.
 */
function relationOperations<const S extends ScopeWords, const T extends SortWords>(scope: S, sort: T) {
  const { tag, target }: ScopeWords = scope;
  const Noun: S['Noun'] = scope.Noun;
  const SortNoun: T['Noun'] = sort.Noun;
  const record: T['record'] = sort.record;
  const { one } = paths(scope, sort);
  return {
    alias: operation({
      id: `create${Noun}${SortNoun}Alias` as const,
      method: 'POST',
      path: `${one}/alias` as const,
      tag,
      summary: `Create an alias of a ${sort.noun} of ${scope.noun}`,
      description: `
        Adds a second key for a ${sort.noun} that ${scope.noun} sees, so that a program finds the name that it expects,
        such as \`DATABASE_URL\`. Its value follows the ${sort.noun}, overrides included. An alias of an alias is refused.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`KEY_TAKEN\` (409) | ${taken} | Choose another key. |
      `,
      scope: 'WRITE',
      target,
      body: AliasRequest,
      status: 201,
      response: record,
      errors: [400, 409],
    }),
    override: operation({
      id: `create${Noun}${SortNoun}Override` as const,
      method: 'POST',
      path: `${one}/override` as const,
      tag,
      summary: `Create an override of a ${sort.noun} at ${scope.noun}`,
      description: `
        ${target === 'project' ? nothingToOverride : overrides(sort.noun)}
      `,
      scope: 'WRITE',
      target,
      body: OverrideRequest,
      status: 201,
      response: record,
      errors: [400, 409],
    }),
  };
}

/** Returns all operations on the variables and secrets of one scope. */
export function scopedOperations<const S extends ScopeWords>(scope: S) {
  const parameter: S['parameter'] = scope.parameter;
  return {
    parameter,
    variables: { ...rowOperations(scope, variable), ...relationOperations(scope, variable) },
    secrets: { ...rowOperations(scope, secret), ...relationOperations(scope, secret) },
  };
}

/**
 * The names of a kind of service in paths and operation ids. The id of the import operation does not follow the
 * pattern.
 */
export interface ServiceWords {
  readonly noun: string;
  readonly Noun: string;
  readonly importId: string;
}

/** Returns all operations on the variables and secrets of a kind of service. */
export function serviceOperations<const S extends ServiceWords>(words: S) {
  const segment: S['noun'] = words.noun;
  const Noun: S['Noun'] = words.Noun;
  const id: S['importId'] = words.importId;
  const parameter = `${segment}Id` as const;
  const noun = `${/^[aeiou]/.test(segment) ? 'an' : 'a'} ${segment}`;
  const target = 'service' as const;
  const scope = { tag: Noun, target, noun, Noun, segment, parameter };
  return {
    ...scopedOperations(scope),
    import: operation({
      id,
      method: 'POST',
      path: `/${segment}/{${parameter}}/environmentVariable/import` as const,
      tag: Noun,
      summary: `Import variables of ${noun}`,
      description: `
        Writes up to 1,000 variables and secrets to ${noun}, its environment or its project. Existing keys stay unless
        \`overwrite\` is true; aliases always stay, and a secret and a variable never replace each other. If one item is invalid, nothing is written. The answer lists what was written.
      `,
      scope: 'WRITE',
      target,
      body: ImportRequest,
      status: 201,
      response: Import,
      errors: [400, 409],
    }),
  };
}

/** Returns all operations of a scope, keyed by their ids. */
export function operationsOf<V extends Operation, S extends Operation, I extends Operation = never>(scoped: {
  readonly variables: Readonly<Record<string, V>>;
  readonly secrets: Readonly<Record<string, S>>;
  readonly import?: I;
}): ById<V | S | I> {
  const rest = scoped.import === undefined ? [] : [scoped.import];
  return byId([...Object.values(scoped.variables), ...Object.values(scoped.secrets), ...rest]);
}
