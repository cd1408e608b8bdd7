import type { Body, operations } from '@davit/contract';
import { invalid, notFound, Problems } from '../shared/problems.ts';
import type { BuiltIn } from './builtin.ts';
import { assertKeyFree, checkLength } from './check.ts';
import { checkKey } from './key.ts';
import { isOwnedBy, type VariableOwner } from './owner.ts';
import { variableRecord } from './record.ts';
import { level, levelNouns, type VariableRow } from './row.ts';
import {
  isBuiltInOfSort,
  isOfSort,
  notEditable,
  ownerNoun,
  sortNoun,
  rowsOf,
  type IsSecret,
  type VariableChange,
  type Stored,
} from './change.ts';
import { findVariable } from './store.ts';
import { content, insert } from './variable.ts';

export type AliasRequest = Body<(typeof operations)['createProjectEnvironmentVariableAlias']>;
export type OverrideRequest = Body<(typeof operations)['createProjectEnvironmentVariableOverride']>;

/** The target of an alias or override, and the path of the owner in the request, for messages. */
export interface RelationTarget {
  readonly id: string;
  readonly isSecret: IsSecret;
  readonly scopePath?: string;
}

/**
 * Creates an alias: a second key at the owner for a variable that the owner sees. The alias of a secret is a secret.
 * Fails with VALIDATION_FAILED if the target is an alias, or is narrower than the owner.
 */
export async function createAlias(change: VariableChange, choice: RelationTarget, request: AliasRequest): Promise<Stored> {
  const rows = await rowsOf(change);
  const { row, builtIn } = await findTarget(change, rows, choice);
  if (row?.type === 'ALIAS') {
    throw invalid('', `${row.key} is an alias itself; make an alias of the ${sortNoun(row.is_secret)} that it points at`);
  }
  if (builtIn?.isSetAtStart === true) {
    throw invalid('', `${builtIn.key} is set when an instance starts and cannot have an alias; read it by its own key`);
  }
  const problems = new Problems();
  checkKey(request.key, change.deps.config.variablePrefix, problems);
  problems.throwIfAny();
  assertKeyFree(request.key, rows, change.owner);
  return insert(change, rows, {
    replaces: false,
    key: request.key,
    type: 'ALIAS',
    is_secret: row?.is_secret ?? builtIn?.secret != null,
    value: null,
    secret_value_id: null,
    reference_keys: null,
    target_id: row?.id ?? null,
    target_builtin: builtIn?.name ?? null,
    mount_path: null,
    description: request.description ?? null,
    enable_interpolation_in_file: request.enable_interpolation_in_file ?? null,
  });
}

/**
 * Creates an override: another value at the owner, under the same key, for a variable that the owner inherits. The
 * override of a file is a file at the same path. Fails with:
 * - VALIDATION_FAILED: the target is defined at the owner itself, or is an override.
 * - VARIABLE_NOT_EDITABLE: the target is a built-in variable.
 * - KEY_TAKEN: the owner has the key.
 */
export async function createOverride(change: VariableChange, choice: RelationTarget, request: OverrideRequest): Promise<Stored> {
  const { owner } = change;
  const rows = await rowsOf(change);
  const { row, builtIn } = await findTarget(change, rows, choice);
  if (row === undefined) {
    throw notEditable(`${builtIn?.key ?? 'This'} is a built-in variable: its value is computed and cannot be overridden`);
  }
  assertOverridable(row, owner, choice);
  const taken = rows.find((one) => one.key === row.key && isOwnedBy(one, owner));
  if (taken !== undefined) assertKeyFree(row.key, [taken], owner);
  const value = request.value ?? '';
  const problems = new Problems();
  const isFile = variableRecord(row, owner, rows).mount_path !== null && row.type !== 'ALIAS';
  if (!isFile) checkLength({ key: row.key, value }, problems);
  problems.throwIfAny();
  return insert(change, rows, {
    replaces: false,
    key: row.key,
    type: 'OVERRIDE',
    is_secret: row.is_secret,
    ...(await content(change, row.is_secret, value)),
    target_id: row.id,
    target_builtin: null,
    mount_path: null,
    description: request.description ?? null,
    enable_interpolation_in_file:
      request.enable_interpolation_in_file === undefined
        ? row.enable_interpolation_in_file
        : request.enable_interpolation_in_file,
  });
}

function assertOverridable(row: VariableRow, owner: VariableOwner, { scopePath = '' }: RelationTarget): void {
  const noun = sortNoun(row.is_secret);
  if (isOwnedBy(row, owner)) {
    throw invalid(
      scopePath,
      `${row.key} is defined at this ${ownerNoun(owner)} itself; edit it, or override it at a narrower scope`,
    );
  }
  if (row.type === 'OVERRIDE') {
    throw invalid(
      '',
      `${row.key} of the ${levelNouns[level(row)]} is an override itself; override the ${noun} that it overrides`,
    );
  }
}

type Target = { readonly row: VariableRow; readonly builtIn?: never } | { readonly row?: never; readonly builtIn: BuiltIn };

/**
 * Returns the target. Fails with NOT_FOUND, or with VALIDATION_FAILED if the target exists but the owner does not see
 * it.
 */
async function findTarget({ tx, owner }: VariableChange, rows: readonly VariableRow[], choice: RelationTarget): Promise<Target> {
  const { id, isSecret, scopePath } = choice;
  const row = rows.find((one) => one.id === id && isOfSort(one, isSecret));
  if (row !== undefined) return { row };
  const builtIn = owner.builtIns.find((one) => one.id === id && isBuiltInOfSort(one, isSecret));
  if (builtIn !== undefined) return { builtIn };
  const found = await tx.maybe(findVariable, [id, owner.organizationId]);
  if (found === undefined || !isOfSort(found, isSecret)) throw notFound(sortNoun(isSecret));
  const isBelow =
    found.project_id === owner.projectId && (owner.environmentId === null || found.environment_id === owner.environmentId);
  if (isBelow && owner.service === null) {
    throw invalid(
      scopePath ?? '',
      `must not be wider than where ${found.key} is defined: this ${ownerNoun(owner)} does not see it`,
    );
  }
  if (scopePath === undefined) throw notFound(sortNoun(isSecret));
  throw invalid(scopePath, `names a place that does not see ${found.key}`);
}
