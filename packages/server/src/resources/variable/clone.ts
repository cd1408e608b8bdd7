import { randomUUID } from 'node:crypto';
import type { Queryable } from '@davit/db';
import type { Needs } from '../../deps.ts';
import { invalidReference } from '../shared/problems.ts';
import type { IdMap } from '../shared/relink.ts';
import { referenceKeys } from './references.ts';
import { level, type VariableRow } from './row.ts';
import {
  insertSecretValue,
  insertVariables,
  readEnvironmentVariables,
  readSecretValues,
  readVariables,
  secretValuesOf,
} from './store.ts';

/** The source and target of copied variables. */
export interface VariableClone {
  readonly organizationId: string;
  readonly from: { readonly environmentId: string; readonly projectId: string };
  readonly to: { readonly environmentId: string; readonly projectId: string };
  /** Copied services and their copies. Variables of other services are left out. */
  readonly services: IdMap;
  /** Replaces names of copied records in a text by the names of their copies. */
  readonly relink: (text: string) => string;
}

/** A secret value, its copy, and the owner of the copy. */
export interface SecretCopy {
  readonly from: string;
  readonly to: string;
  /** null: the environment owns the copy. */
  readonly serviceId: string | null;
}

/**
 * Copies the variables and secrets of an environment and its services. Aliases and overrides of copied variables
 * reference the copies. In another project, references to variables of the project change to the target project's
 * variables with the same key. Fails with INVALID_REFERENCE if there is no such variable.
 */
export async function cloneVariables(deps: Needs<'vault'>, tx: Queryable, clone: VariableClone): Promise<void> {
  const seen = await tx.many(readEnvironmentVariables, [clone.from.environmentId]);
  // Outputs describe resources of the original services; the copies write outputs of their own.
  const outputs = new Set(seen.filter((row) => (row.output_of ?? null) !== null).map((row) => row.id));
  const rows = seen.filter(
    (row) =>
      (row.environment_id !== null || (row.service_id !== null && clone.services.has(row.service_id))) &&
      !outputs.has(row.id) &&
      !outputs.has(row.target_id ?? ''),
  );
  await copyRows(deps, tx, { ...clone, rows, outside: await projectTargets(tx, clone, rows, seen) });
}

/**
 * Copies the variables and secrets of one service. Errors have the path `environment_id` of the request. In another
 * environment, aliases and overrides of outside variables reference the variables with the same key there. Fails with
 * INVALID_REFERENCE if there is no such variable, or if another variable there is mounted at the path of a copied file.
 */
export async function cloneServiceVariables(
  deps: Needs<'vault'>,
  tx: Queryable,
  { organizationId, from, to, services, relink }: VariableClone,
): Promise<void> {
  const seen = await tx.many(readEnvironmentVariables, [from.environmentId]);
  const rows = seen.filter(({ service_id }) => service_id !== null && services.has(service_id));
  const isMoved = from.environmentId !== to.environmentId;
  const wider = isMoved ? await tx.many(readVariables, [[to.environmentId, to.projectId]]) : [];
  for (const row of rows) refuseSamePath(row, wider);
  const outside = rows.flatMap((row): [string, string][] => {
    const target = seen.find(({ id }) => id === row.target_id);
    if (target === undefined || level(target) === 2 || wider.some(({ id }) => id === target.id)) return [];
    return isMoved ? [[target.id, sameVariable(row, target, wider)]] : [];
  });
  await copyRows(deps, tx, { organizationId, from, to, services, relink, rows, outside: new Map(outside) });
}

function refuseSamePath(row: VariableRow, others: readonly VariableRow[]): void {
  const other = others.find(({ key, mount_path }) => mount_path !== null && mount_path === row.mount_path && key !== row.key);
  if (other === undefined) return;
  throw invalidReference(
    'environment_id',
    `names an environment where ${other.key} is mounted at ${row.mount_path}, as ${row.key} of the service is; change one of them first`,
  );
}

function sameVariable(row: VariableRow, target: VariableRow, others: readonly VariableRow[]): string {
  const same = others.filter(({ key, is_secret }) => key === target.key && is_secret === target.is_secret);
  const found = same.find(({ environment_id }) => environment_id !== null) ?? same[0];
  if (found !== undefined) return found.id;
  const noun = target.is_secret ? 'secret' : 'variable';
  throw invalidReference(
    'environment_id',
    `names an environment without a ${noun} ${target.key}, which ${row.key} points at; create it there first`,
  );
}

interface RowsClone extends VariableClone {
  readonly rows: readonly VariableRow[];
  /** Replacements for referenced variables that are not copied. */
  readonly outside: IdMap;
}

async function copyRows(deps: Needs<'vault'>, tx: Queryable, { rows, outside, ...clone }: RowsClone): Promise<void> {
  const ids = new Map(rows.map((row) => [row.id, randomUUID()]));
  const targets = new Map([...ids, ...outside]);
  const secrets = rows.flatMap((row): SecretCopy[] =>
    row.secret_value_id === null
      ? []
      : [{ from: row.secret_value_id, to: randomUUID(), serviceId: parentsOf(row, clone).service_id }],
  );
  await cloneSecrets(deps, tx, { ...clone, environmentId: clone.to.environmentId }, secrets);
  const secretIds = new Map(secrets.map(({ from, to }) => [from, to]));
  const copies = rows.map((row) => ({
    ...row,
    ...parentsOf(row, clone),
    id: ids.get(row.id),
    value: row.value === null ? null : clone.relink(row.value),
    secret_value_id: row.secret_value_id === null ? null : secretIds.get(row.secret_value_id),
    target_id: row.target_id === null ? null : (targets.get(row.target_id) ?? row.target_id),
    target_builtin: row.target_builtin === null ? null : clone.relink(row.target_builtin),
  }));
  if (copies.length > 0) await tx.run(insertVariables, [clone.organizationId, JSON.stringify(copies)]);
}

/** The owner of copied secret values, and the function that adapts their texts. */
export interface SecretsTarget {
  readonly organizationId: string;
  readonly environmentId: string;
  readonly relink: (text: string) => string;
}

/** Copies secret values. Each value is encrypted for its own record, so a copy must be encrypted again. */
export async function cloneSecrets(
  deps: Needs<'vault'>,
  tx: Queryable,
  { organizationId, environmentId, relink }: SecretsTarget,
  copies: readonly SecretCopy[],
): Promise<void> {
  if (copies.length === 0) return;
  const rows = await tx.many(readSecretValues, [copies.map(({ from }) => from)]);
  const sealed = new Map(rows.map((row) => [row.id, row.sealed]));
  for (const { from, to, serviceId } of copies) {
    const bytes = sealed.get(from);
    if (bytes === undefined) throw new Error(`secret value ${from} is missing`);
    const text = relink(deps.vault.open(from, bytes));
    const owner = [to, organizationId, null, serviceId === null ? environmentId : null, serviceId];
    await tx.run(insertSecretValue, [...owner, deps.vault.seal(to, text), referenceKeys(text)]);
  }
}

/**
 * Returns the ids that are secret values of the service or its environment. A spec may reference secret values of other
 * owners, which must not be copied.
 */
export async function secretIdsAmong(
  tx: Queryable,
  ids: readonly string[],
  { id, environment_id }: { readonly id: string; readonly environment_id: string },
): Promise<string[]> {
  return ids.length === 0 ? [] : (await tx.many(secretValuesOf, [ids, id, environment_id])).map((row) => row.id);
}

function parentsOf(row: VariableRow, { to, services }: VariableClone) {
  return {
    project_id: null,
    environment_id: row.environment_id === null ? null : to.environmentId,
    service_id: row.service_id === null ? null : (services.get(row.service_id) ?? null),
  };
}

/** Returns, for a copy into another project, the variables there that replace those of the former project. */
async function projectTargets(
  tx: Queryable,
  { from, to }: VariableClone,
  rows: readonly VariableRow[],
  seen: readonly VariableRow[],
): Promise<IdMap> {
  if (from.projectId === to.projectId) return new Map();
  const others = await tx.many(readVariables, [[to.projectId]]);
  const targets = new Map<string, string>();
  for (const row of rows) {
    const target = seen.find(({ id, project_id }) => id === row.target_id && project_id !== null);
    if (target === undefined) continue;
    const other = others.find(({ key, is_secret }) => key === target.key && is_secret === target.is_secret);
    if (other === undefined) {
      const noun = target.is_secret ? 'secret' : 'variable';
      throw invalidReference(
        'project_id',
        `names a project without a ${noun} ${target.key}, which ${row.key} points at; create it there first`,
      );
    }
    targets.set(target.id, other.id);
  }
  return targets;
}
