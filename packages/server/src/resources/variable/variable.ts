import { randomUUID } from 'node:crypto';
import type { Body, operations } from '@davit/contract';
import { notFound, Problems } from '../shared/problems.ts';
import { assertKeyFree, assertNoCycle, assertNotInherited, checkLength, checkMountPath, lockMountPaths } from './check.ts';
import { checkKey } from './key.ts';
import { levelOf, isOwnedBy, type VariableOwner } from './owner.ts';
import { variableRecord } from './record.ts';
import { referenceKeys } from './references.ts';
import { level, levelNouns, type VariableRow } from './row.ts';
import {
  isBuiltInOfSort,
  isOfSort,
  keyTaken,
  notEditable,
  parentValues,
  ownerNoun,
  rowsOf,
  sortNoun,
  visibleAt,
  withConflicts,
  type IsSecret,
  type VariableChange,
  type Stored,
} from './change.ts';
import * as store from './store.ts';

export type VariableRequest = Body<(typeof operations)['createProjectEnvironmentVariable']>;
export type VariableEditRequest = Body<(typeof operations)['editProjectEnvironmentVariable']>;

/**
 * Creates a variable or secret at the owner; with a mount path it is a file. At a project or environment it replaces a
 * variable of the same key and kind (semantics 4.1). Fails with KEY_TAKEN, VALIDATION_FAILED or VARIABLE_CYCLE.
 */
export async function createVariable(change: VariableChange, isSecret: boolean, request: VariableRequest): Promise<Stored> {
  const { tx, owner } = change;
  const mountPath = request.mount_path || null;
  await lockMountPaths(tx, owner, mountPath);
  const rows = await rowsOf(change);
  const value = request.value ?? '';
  const problems = new Problems();
  checkKey(request.key, change.deps.config.variablePrefix, problems);
  const replaced = rows.find((row) => row.key === request.key && isOwnedBy(row, owner));
  checkMountPath(
    mountPath,
    rows.filter((row) => row !== replaced),
    problems,
  );
  if (mountPath === null) checkLength({ key: request.key, value }, problems);
  problems.throwIfAny();
  const replaces = levelOf(owner) < 2;
  if (replaces) assertNotInherited(request.key, rows, owner);
  else assertKeyFree(request.key, rows, owner);
  return insert(change, rows, {
    replaces,
    key: request.key,
    type: mountPath === null ? 'VALUE' : 'FILE',
    is_secret: isSecret,
    ...(await (replaced?.is_secret === isSecret ? editedContent(change, replaced, value) : content(change, isSecret, value))),
    target_id: null,
    target_builtin: null,
    mount_path: mountPath,
    description: request.description ?? null,
    enable_interpolation_in_file: request.enable_interpolation_in_file ?? null,
  });
}

/**
 * Edits a variable that is defined at the owner itself. Omitted members stay; a new value of a secret is a new version.
 */
export async function editVariable(
  change: VariableChange,
  { id, isSecret }: { readonly id: string; readonly isSecret: IsSecret },
  request: VariableEditRequest,
): Promise<Stored> {
  const { tx, owner } = change;
  await lockMountPaths(tx, owner, request.mount_path);
  const rows = await rowsOf(change);
  const row = ownRow({ rows, owner }, id, isSecret);
  assertEditable(row, request, { rows, owner });
  const mountPath = isFixed(row) || request.mount_path === undefined ? row.mount_path : request.mount_path || null;
  checkEdit(change, row, { request, mountPath, rows });
  const edited: VariableRow = {
    ...row,
    key: request.key,
    type: isFixed(row) ? row.type : mountPath === null ? 'VALUE' : 'FILE',
    ...(await editedContent(change, row, request.value ?? null)),
    mount_path: mountPath,
    description: request.description === undefined ? row.description : request.description,
    enable_interpolation_in_file:
      request.enable_interpolation_in_file === undefined
        ? row.enable_interpolation_in_file
        : request.enable_interpolation_in_file,
  };
  const written = await withConflicts({ key: edited.key, owner }, () =>
    tx.maybe(store.updateVariable, [
      id,
      edited.key,
      edited.type,
      edited.value,
      edited.secret_value_id,
      edited.mount_path,
      edited.description,
      edited.enable_interpolation_in_file,
    ]),
  );
  if (written === undefined) throw notFound(sortNoun(isSecret));
  const now = { ...edited, ...written };
  const stored = { row: now, rows: rows.map((one) => (one.id === id ? now : one)) };
  if (change.known === undefined) assertNoCycle(stored, owner);
  return stored;
}

/** Deletes a variable that is defined at the owner itself, with its aliases and overrides. */
export async function removeVariable(
  { tx, owner }: Pick<VariableChange, 'tx' | 'owner'>,
  { id, isSecret }: { readonly id: string; readonly isSecret: IsSecret },
): Promise<void> {
  ownRow({ rows: await visibleAt(tx, owner), owner }, id, isSecret);
  if ((await tx.run(store.deleteVariable, [id])) === 0) throw notFound(sortNoun(isSecret));
}

export type NewRow = Omit<VariableRow, 'id' | 'project_id' | 'environment_id' | 'service_id' | 'created_at' | 'updated_at'> & {
  readonly replaces: boolean;
};

/** Writes a row at the owner. Fails if the row causes a cycle. */
export async function insert(
  { tx, owner, known }: VariableChange,
  rows: readonly VariableRow[],
  fields: NewRow,
): Promise<Stored> {
  const { replaces, ...columns } = fields;
  const values = [
    ...parentValues(randomUUID(), owner),
    fields.key,
    fields.type,
    fields.is_secret,
    fields.value,
    fields.secret_value_id,
    fields.target_id,
    fields.target_builtin,
    fields.mount_path,
    fields.description,
    fields.enable_interpolation_in_file,
  ];
  const written = await withConflicts({ key: fields.key, owner }, () =>
    tx.maybe(replaces ? store.replaceVariable : store.insertVariable, values),
  );
  if (written === undefined) {
    throw keyTaken(
      `${fields.key} exists already at this ${ownerNoun(owner)} as an alias, an override or of the other kind (variable, secret)`,
    );
  }
  const [, , project_id, environment_id, service_id] = parentValues(written.id, owner);
  const row: VariableRow = {
    ...columns,
    ...written,
    project_id: project_id ?? null,
    environment_id: environment_id ?? null,
    service_id: service_id ?? null,
  };
  const stored = { row, rows: [...rows.filter((one) => one.id !== row.id), row] };
  if (known === undefined) assertNoCycle(stored, owner);
  return stored;
}

type Content = Pick<VariableRow, 'value' | 'secret_value_id' | 'reference_keys'>;

/** Returns a value in the form of a row. The value of a secret is stored separately, encrypted. */
export async function content({ deps, tx, owner }: VariableChange, isSecret: boolean, value: string): Promise<Content> {
  if (!isSecret) return { value, secret_value_id: null, reference_keys: null };
  const id = randomUUID();
  const keys = referenceKeys(value);
  await tx.run(store.insertSecretValue, [...parentValues(id, owner), deps.vault.seal(id, value), keys]);
  return { value: null, secret_value_id: id, reference_keys: keys };
}

async function editedContent(change: VariableChange, row: VariableRow, value: string | null): Promise<Content> {
  const { value: old, secret_value_id, reference_keys } = row;
  const kept = { value: old, secret_value_id, reference_keys };
  if (value === null || row.type === 'ALIAS') return kept;
  if (secret_value_id !== null) {
    // A new version with the same text would only make services out of date.
    const [version] = await change.tx.many(store.readSecretValues, [[secret_value_id]]);
    if (version !== undefined && change.deps.vault.open(version.id, version.sealed) === value) return kept;
  }
  return content(change, row.is_secret, value);
}

interface View {
  readonly rows: readonly VariableRow[];
  readonly owner: VariableOwner;
}

/** Returns the row with that id. Fails unless the row is defined at the owner itself and is of the operation's kind. */
function ownRow({ rows, owner }: View, id: string, isSecret: IsSecret): VariableRow {
  const row = rows.find((one) => one.id === id && isOfSort(one, isSecret));
  if ((row?.output_of ?? null) !== null) {
    throw notEditable(`${row?.key ?? ''} is an output of a service: its next successful run writes it`);
  }
  if (row !== undefined && isOwnedBy(row, owner)) return row;
  const builtIn = owner.builtIns.find((one) => one.id === id && isBuiltInOfSort(one, isSecret));
  if (builtIn !== undefined) {
    throw notEditable(`${builtIn.key} is a built-in variable: its value is computed`);
  }
  if (row === undefined) throw notFound(sortNoun(isSecret));
  throw notEditable(`${row.key} belongs to the ${levelNouns[level(row)]} and cannot be changed from this ${ownerNoun(owner)}`);
}

/** Returns whether the type of the row depends on its target instead of its path. */
function isFixed(row: VariableRow): boolean {
  return row.type === 'ALIAS' || row.type === 'OVERRIDE';
}

function checkEdit(
  { deps, owner }: VariableChange,
  row: VariableRow,
  { request, mountPath, rows }: { request: VariableEditRequest; mountPath: string | null; rows: readonly VariableRow[] },
): void {
  const problems = new Problems();
  if (request.key !== row.key) checkKey(request.key, deps.config.variablePrefix, problems);
  const others = rows.filter((one) => one !== row);
  if (mountPath !== row.mount_path) checkMountPath(mountPath, others, problems);
  const isFile = isFixed(row) ? variableRecord(row, owner, rows).mount_path !== null : mountPath !== null;
  const value = request.value ?? row.value;
  if (value !== null && !isFile) checkLength({ key: request.key, value }, problems);
  problems.throwIfAny();
  if (request.key !== row.key) assertKeyFree(request.key, others, owner);
}

function assertEditable(row: VariableRow, request: VariableEditRequest, { rows, owner }: View): void {
  if (row.type === 'OVERRIDE' && request.key !== row.key) {
    throw notEditable(`${row.key} overrides a variable and keeps its key; delete it to end the override`);
  }
  if (!isFixed(row)) return;
  // Clients send back the members that they read.
  const shown = variableRecord(row, owner, rows);
  const mountPath = request.mount_path || null;
  if (mountPath !== null && mountPath !== shown.mount_path) {
    throw notEditable(`${row.key} is mounted where the variable that it points at is; change the path there`);
  }
  if (row.type !== 'ALIAS' || (request.value ?? null) === null) return;
  if (!row.is_secret && request.value === shown.value) return;
  throw notEditable(`${row.key} is an alias: its value is that of its target, change it there`);
}
