import type { Body, operations, Response, VariableScope } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import { Problems } from '../shared/problems.ts';
import { assertNoCycles, checkLength } from './check.ts';
import { checkKey } from './key.ts';
import {
  lockOwner,
  levelOf,
  isOwnedBy,
  type OwnerReference,
  type ServiceOwnerReference,
  type VariableOwner,
  type VariableContext,
} from './owner.ts';
import { createOverride } from './relation.ts';
import { level, type VariableRow } from './row.ts';
import { visibleAt, type VariableChange } from './change.ts';
import { createVariable, editVariable } from './variable.ts';

export type ImportRequest = Body<(typeof operations)['importEnvironmentVariables']>;
export type Import = Response<(typeof operations)['importEnvironmentVariables']>;
type Item = ImportRequest['vars'][number];

/**
 * Writes many variables and secrets, each to the service, its environment or its project. Writes all of them or none:
 * VALIDATION_FAILED names each error by its index in the list. The response lists the written variables.
 * - Existing keys stay unchanged. With `overwrite` they get the value; inherited keys get it by an override.
 * - Aliases always stay unchanged.
 * - Secrets stay unchanged by variables of the list, and variables by secrets.
 */
export function importVariables(
  context: VariableContext,
  caller: Caller,
  reference: ServiceOwnerReference,
  request: ImportRequest,
): Promise<Import> {
  const { deps } = context;
  checkItems(request.vars, reference, deps.config.variablePrefix);
  return deps.database.transaction(async (tx) => {
    const locations = await lockedOwners(context, tx, caller, {
      reference,
      scopes: new Set(request.vars.map(({ scope }) => scope)),
    });
    const done = new Set<Item>();
    let rows: readonly VariableRow[] = await visibleAt(tx, locations.service);
    // Wide scopes first, so that a narrower variable of the same key in the list overrides the wider one.
    for (const item of request.vars.toSorted((a, b) => order(a.scope) - order(b.scope))) {
      const owner = locations.of(item.scope);
      const known = rows.filter((row) => level(row) <= levelOf(owner));
      const stored = await importOne({ deps, tx, owner, known }, item, request.overwrite);
      if (stored === undefined) continue;
      rows = [...rows.filter(({ id }) => id !== stored.id), stored];
      done.add(item);
    }
    assertNoCycles(new Set([...done].map(({ name }) => name)), rows, locations.service);
    return {
      total_variables_to_import: request.vars.length,
      successful_imported_variables: request.vars
        .filter((item) => done.has(item))
        .map(({ name, value, scope, is_secret }) => ({ name, scope, is_secret, ...(is_secret ? {} : { value }) })),
    };
  });
}

/** Returns the written row, or undefined if the existing variable stayed unchanged. */
async function importOne(
  change: VariableChange & { readonly known: readonly VariableRow[] },
  { name, value, is_secret }: Item,
  overwrite: boolean,
): Promise<VariableRow | undefined> {
  const found = change.known.filter((row) => row.key === name);
  const own = found.find((row) => isOwnedBy(row, change.owner));
  // The variable that the overrides on the way to the owner replace.
  const inherited = found.find((row) => row.type !== 'OVERRIDE');
  const there = own ?? inherited;
  if (there === undefined) return (await createVariable(change, is_secret, { key: name, value })).row;
  if (!overwrite || there.is_secret !== is_secret || own?.type === 'ALIAS') return undefined;
  const target = { id: there.id, isSecret: is_secret };
  const { row } = await (own === undefined
    ? createOverride(change, target, { value })
    : editVariable(change, target, { key: name, value }));
  return row;
}

function checkItems(items: readonly Item[], { scope }: ServiceOwnerReference, prefix: string): void {
  const problems = new Problems();
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const at = `vars.${index}`;
    checkKey(item.name, prefix, problems, `${at}.name`);
    checkLength({ key: item.name, value: item.value, path: `${at}.value` }, problems);
    if (item.scope !== scope && item.scope !== 'ENVIRONMENT' && item.scope !== 'PROJECT') {
      problems.add(
        `${at}.scope`,
        `must be ${scope}, ENVIRONMENT or PROJECT: what is imported goes to the service or to what it is in`,
      );
    }
    const whole = `${item.scope} ${item.name}`;
    if (seen.has(whole)) problems.add(`${at}.name`, 'is in the list twice for this scope; keep one of them');
    seen.add(whole);
  }
  problems.throwIfAny();
}

function order(scope: VariableScope): number {
  return scope === 'PROJECT' ? 0 : scope === 'ENVIRONMENT' ? 1 : 2;
}

interface HeldOwners {
  readonly service: VariableOwner;
  readonly of: (scope: VariableScope) => VariableOwner;
}

/** Returns the service and, if the list names them, its environment and project. All of them are locked. */
async function lockedOwners(
  context: VariableContext,
  tx: Queryable,
  caller: Caller,
  { reference, scopes }: { readonly reference: ServiceOwnerReference; readonly scopes: ReadonlySet<VariableScope> },
): Promise<HeldOwners> {
  const service = await lockOwner(context, tx, caller, reference);
  const { projectId, environmentId } = service;
  const wide: OwnerReference[] = [];
  if (scopes.has('PROJECT')) wide.push({ scope: 'PROJECT', id: projectId });
  if (scopes.has('ENVIRONMENT') && environmentId !== null) wide.push({ scope: 'ENVIRONMENT', id: environmentId });
  const held = new Map<VariableScope, VariableOwner>();
  for (const one of wide) held.set(one.scope, await lockOwner(context, tx, caller, one));
  return { service, of: (scope) => held.get(scope) ?? service };
}
