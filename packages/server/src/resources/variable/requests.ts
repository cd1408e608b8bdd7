import { AppError } from '@davit/base';
import type { Body, operations, Query, VariableScope } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import { invalid, invalidReference, notFound } from '../shared/problems.ts';
import type { BuiltIn } from './builtin.ts';
import { importVariables, type Import, type ImportRequest } from './import.ts';
import { lockOwner, ownerReference, readOwner, type OwnerReference, type VariableOwner, type VariableContext } from './owner.ts';
import {
  anyBuiltInRecord,
  anyRecord,
  builtInRecord,
  builtInSecretRecord,
  secretRecord,
  variableRecord,
  type AnyRecord,
  type SecretRecord,
  type VariableRecord,
} from './record.ts';
import { createAlias, createOverride } from './relation.ts';
import { isBuiltInOfSort, visibleAt, type IsSecret, type VariableChange, type Stored } from './change.ts';
import { findVariable, type FoundVariable } from './store.ts';
import { createVariable, editVariable, removeVariable } from './variable.ts';

type Operations = typeof operations;

/** The differences between variables and secrets: the flag and the record. Both have the same operations. */
export interface VariableFlavor<Record> {
  readonly isSecret: boolean;
  readonly toRecord: (stored: Stored, owner: VariableOwner) => Record;
}

export const variables: VariableFlavor<VariableRecord> = {
  isSecret: false,
  toRecord: ({ row, rows }, owner) => variableRecord(row, owner, rows),
};

export const secrets: VariableFlavor<SecretRecord> = {
  isSecret: true,
  toRecord: ({ row, rows }, owner) => secretRecord(row, owner, rows),
};

const anySort = { toRecord: ({ row, rows }: Stored, owner: VariableOwner): AnyRecord => anyRecord(row, owner, rows) };

/** Returns all variables that an owner sees, oldest first, with built-in variables. Fails with NOT_FOUND. */
export async function listVariables(
  context: VariableContext,
  caller: Caller,
  reference: OwnerReference,
): Promise<{ results: VariableRecord[] }> {
  const owner = await readOwner(context, caller, reference);
  const rows = await visibleAt(context.deps.database, owner);
  const stored = rows.filter((row) => !row.is_secret).map((row) => variableRecord(row, owner, rows));
  return { results: oldestFirst([...builtInsOf(owner, false).map(builtInRecord), ...stored]) };
}

export async function listSecrets(
  context: VariableContext,
  caller: Caller,
  reference: OwnerReference,
): Promise<{ results: SecretRecord[] }> {
  const owner = await readOwner(context, caller, reference);
  const rows = await visibleAt(context.deps.database, owner);
  const stored = rows.filter((row) => row.is_secret).map((row) => secretRecord(row, owner, rows));
  return { results: oldestFirst([...builtInsOf(owner, true).map(builtInSecretRecord), ...stored]) };
}

/** Returns variables, secrets or both in one list. Fails with NOT_FOUND or VALIDATION_FAILED. */
export async function listAny(
  context: VariableContext,
  caller: Caller,
  query: Query<Operations['listVariables']>,
): Promise<{ results: AnyRecord[] }> {
  const owner = await readOwner(context, caller, referenceOf('scope', query.scope, query.parent_id));
  const rows = await visibleAt(context.deps.database, owner);
  const wanted = query.is_secret ?? null;
  const stored = rows.filter((row) => wanted === null || row.is_secret === wanted).map((row) => anyRecord(row, owner, rows));
  return { results: oldestFirst([...builtInsOf(owner, wanted ?? undefined).map(anyBuiltInRecord), ...stored]) };
}

function builtInsOf(owner: VariableOwner, isSecret: IsSecret): readonly BuiltIn[] {
  return owner.builtIns.filter((one) => isBuiltInOfSort(one, isSecret));
}

function oldestFirst<Record extends { readonly created_at: string }>(records: Record[]): Record[] {
  return records.sort((a, b) => (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : 0));
}

interface Change<Record> {
  readonly reference: OwnerReference;
  readonly sort: Pick<VariableFlavor<Record>, 'toRecord'>;
  /** Path of the owner in the body, if the body names it. Then a missing owner is INVALID_REFERENCE. */
  readonly path?: string | undefined;
}

/**
 * Writes a variable in a transaction. The change affects the next deployment of the services at or below the owner;
 * until then they are out of date. Nothing that is running changes. Fails with NOT_FOUND, BEING_DELETED, or the errors
 * of `write`.
 */
export function change<Record>(
  { deps, services }: VariableContext,
  caller: Caller,
  { reference, sort, path }: Change<Record>,
  write: (change: VariableChange) => Promise<Stored>,
): Promise<Record> {
  return deps.database.transaction(async (tx) => {
    const held = lockOwner({ deps, services }, tx, caller, reference);
    const owner = await (path === undefined ? held : inBody(path, reference, held));
    return sort.toRecord(await write({ deps, tx, owner }), owner);
  });
}

export async function remove(
  context: VariableContext,
  caller: Caller,
  reference: OwnerReference,
  variable: { readonly id: string; readonly isSecret: IsSecret },
): Promise<undefined> {
  await removeVariable({ tx: context.deps.database, owner: await readOwner(context, caller, reference, 'create') }, variable);
}

/** Creates a variable or secret. Fails with INVALID_REFERENCE if the body names no owner of the caller. */
export async function createAny(
  context: VariableContext,
  caller: Caller,
  body: Body<Operations['createVariable']>,
): Promise<AnyRecord> {
  const reference = referenceOf('variable_scope', body.variable_scope, body.variable_parent_id);
  return change(context, caller, { reference, sort: anySort, path: 'variable_parent_id' }, (change) =>
    createVariable(change, body.is_secret, body),
  );
}

export async function editAny(
  context: VariableContext,
  caller: Caller,
  id: string,
  body: Body<Operations['editVariable']>,
): Promise<AnyRecord> {
  const reference = standsAtReference(await find(context, caller, id));
  const { key, value, description, enable_interpolation_in_file } = body;
  // This operation does not change the path.
  const request = { key, value, description, enable_interpolation_in_file };
  return change(context, caller, { reference, sort: anySort }, (change) =>
    editVariable(change, { id, isSecret: undefined }, request),
  );
}

export async function removeAny(context: VariableContext, caller: Caller, id: string): Promise<undefined> {
  return remove(context, caller, standsAtReference(await find(context, caller, id)), { id, isSecret: undefined });
}

export async function aliasAny(
  context: VariableContext,
  caller: Caller,
  id: string,
  body: Body<Operations['createVariableAlias']>,
): Promise<AnyRecord> {
  const choice = { id, isSecret: undefined, scopePath: 'alias_scope' };
  const reference = referenceOf('alias_scope', body.alias_scope, body.alias_parent_id);
  return relateAny(context, caller, { id, path: 'alias_parent_id', reference }, (change) => createAlias(change, choice, body));
}

export async function overrideAny(
  context: VariableContext,
  caller: Caller,
  id: string,
  body: Body<Operations['createVariableOverride']>,
): Promise<AnyRecord> {
  const choice = { id, isSecret: undefined, scopePath: 'override_scope' };
  const reference = referenceOf('override_scope', body.override_scope, body.override_parent_id);
  return relateAny(context, caller, { id, path: 'override_parent_id', reference }, (change) =>
    createOverride(change, choice, body),
  );
}

async function relateAny(
  context: VariableContext,
  caller: Caller,
  { id, path, reference }: { readonly id: string; readonly path: string; readonly reference: OwnerReference },
  write: (change: VariableChange) => Promise<Stored>,
): Promise<AnyRecord> {
  // Built-in variables have no row: only the owner has them.
  const isStored = (await context.deps.database.maybe(findVariable, [id, caller.organizationId])) !== undefined;
  return change(context, caller, { reference, sort: anySort, path: isStored ? path : undefined }, write);
}

/** Imports variables into the service that the query names. Fails with NOT_FOUND. */
export function importAny(
  context: VariableContext,
  caller: Caller,
  { service_id, service_type }: Query<Operations['importEnvironmentVariables']>,
  body: ImportRequest,
): Promise<Import> {
  return importVariables(context, caller, { scope: service_type, id: service_id.toLowerCase() }, body);
}

async function find({ deps }: VariableContext, caller: Caller, id: string): Promise<FoundVariable> {
  const found = await deps.database.maybe(findVariable, [id, caller.organizationId]);
  if (found === undefined) throw notFound('variable');
  return found;
}

function standsAtReference(found: FoundVariable): OwnerReference {
  if (found.service_id !== null) return { scope: found.service_type, id: found.service_id };
  if (found.environment_id !== null) return { scope: 'ENVIRONMENT', id: found.environment_id };
  return { scope: 'PROJECT', id: found.project_id };
}

function referenceOf(path: string, scope: VariableScope, id: string): OwnerReference {
  // Ids are compared as text, and PostgreSQL returns them in lower case.
  const reference = ownerReference(scope, id.toLowerCase());
  if (reference !== undefined) return reference;
  throw invalid(
    path,
    'must be PROJECT, ENVIRONMENT or a type of service: built-in variables are not defined anywhere, they are computed',
  );
}

async function inBody<Owner>(path: string, { scope }: OwnerReference, held: Promise<Owner>): Promise<Owner> {
  try {
    return await held;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'NOT_FOUND') throw error;
    const article = scope === 'ENVIRONMENT' ? 'an' : 'a';
    throw invalidReference(path, `is not the id of ${article} ${ownerNounOf(scope)} that the token may see`);
  }
}

function ownerNounOf(scope: OwnerReference['scope']): string {
  return scope === 'PROJECT' || scope === 'ENVIRONMENT' ? scope.toLowerCase() : `service of type ${scope}`;
}
