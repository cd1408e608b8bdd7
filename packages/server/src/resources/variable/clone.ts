import { randomUUID } from 'node:crypto';
import type { Queryable } from '@davit/db';
import type { Deps } from '../../deps.ts';
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

/** What the copy of an environment is made of. */
export interface VariableClone {
  readonly organizationId: string;
  readonly from: { readonly environmentId: string; readonly projectId: string };
  readonly to: { readonly environmentId: string; readonly projectId: string };
  /** Services that are copied. Variables of others are left out. */
  readonly services: IdMap;
  /** Makes a text that names something of the environment name its copy. */
  readonly relink: (text: string) => string;
}

/** A secret value and where its copy belongs. */
export interface SecretCopy {
  readonly from: string;
  readonly to: string;
  /** null: to the environment. */
  readonly serviceId: string | null;
}

/**
 * Copies the variables and secrets of an environment and its services; aliases and overrides point at the copies. In another
 * project they point at its variables of the same key: INVALID_REFERENCE when it has none.
 */
export async function cloneVariables(deps: Pick<Deps, 'vault'>, tx: Queryable, clone: VariableClone): Promise<void> {
  const seen = await tx.many(readEnvironmentVariables, [clone.from.environmentId]);
  // What services told is of what they made there; their copies tell it anew.
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
 * Copies the variables and secrets of one service, under `environment_id` of a request. What its aliases and overrides point at
 * outside of it they point at in the other environment, by its key: INVALID_REFERENCE when that has none, or mounts another file
 * at the path of one.
 */
export async function cloneServiceVariables(
  deps: Pick<Deps, 'vault'>,
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
  /** What variables point at that are not copied, where the copies point at others. */
  readonly outside: IdMap;
}

async function copyRows(deps: Pick<Deps, 'vault'>, tx: Queryable, { rows, outside, ...clone }: RowsClone): Promise<void> {
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

/** Where copies of secret values belong, and what makes their texts name what was copied. */
export interface SecretsPlace {
  readonly organizationId: string;
  readonly environmentId: string;
  readonly relink: (text: string) => string;
}

/** Copies secret values: each is sealed for its own record, so that a copy has to be sealed anew. */
export async function cloneSecrets(
  deps: Pick<Deps, 'vault'>,
  tx: Queryable,
  { organizationId, environmentId, relink }: SecretsPlace,
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

/** Which of these ids are those of secret values of the service or its environment: a spec may name those of others, which are not its to copy. */
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

/** In another project: the variables there that those of the former project are replaced by. */
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
