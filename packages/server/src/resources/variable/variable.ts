import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import type { Body, operations } from '@davit/contract';
import { isForeignKeyViolation, isUniqueViolation, type Queryable } from '@davit/db';

import type { Deps } from '../../deps.ts';
import { hasControlCharacter, invalid, leavesRoot, notFound, Problems } from '../shared/problems.ts';
import { checkKey } from './key.ts';
import {
  builtInRecord,
  secretRecord,
  variableRecord,
  type SecretRecord,
  type VariablePlace,
  type VariableRecord,
} from './record.ts';
import { referenceKeys } from './references.ts';
import type { VariableRow } from './row.ts';
import { deleteVariable, insertSecretValue, insertVariable, readVariables, updateVariable } from './store.ts';

export type VariableRequest = Body<(typeof operations)['createApplicationEnvironmentVariable']>;
export type VariableEditRequest = Body<(typeof operations)['editApplicationEnvironmentVariable']>;
export type AliasRequest = Body<(typeof operations)['createApplicationEnvironmentVariableAlias']>;

/** One service's view of its variables, and the kind that an operation is about. */
export interface Scene {
  readonly deps: Pick<Deps, 'vault' | 'config'>;
  readonly tx: Queryable;
  readonly place: VariablePlace;
  readonly isSecret: boolean;
}

/** All rows that a service sees: its own, its environment's and its project's. */
export function visibleVariables(
  db: Queryable,
  place: Pick<VariablePlace, 'projectId' | 'environmentId' | 'serviceId'>,
): Promise<VariableRow[]> {
  return db.many(readVariables, [[place.serviceId, place.environmentId, place.projectId]]);
}

export async function listVariables(db: Queryable, place: VariablePlace): Promise<VariableRecord[]> {
  const rows = await visibleVariables(db, place);
  const stored = rows.filter((row) => !row.is_secret).map((row) => variableRecord(row, place, rows));
  const known = place.builtIns.map((builtIn) => builtInRecord(builtIn, place));
  return [...known, ...stored].sort((a, b) => (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : 0));
}

export async function listSecrets(db: Queryable, place: VariablePlace): Promise<SecretRecord[]> {
  const rows = await visibleVariables(db, place);
  return rows.filter((row) => row.is_secret).map((row) => secretRecord(row, place, rows));
}

/** Creates a variable or secret of the service; with a mount path it is a file. Answers its row and all that are visible now. */
export async function createVariable(scene: Scene, request: VariableRequest): Promise<Stored> {
  const rows = await visibleVariables(scene.tx, scene.place);
  const value = request.value ?? '';
  const mountPath = request.mount_path || null;
  const problems = new Problems();
  checkKey(request.key, scene.deps.config.variablePrefix, problems);
  checkMountPath(mountPath, rows, problems);
  if (mountPath === null) checkLength(request.key, value, problems);
  problems.throwIfAny();
  assertKeyFree(request.key, rows);
  return insert(scene, rows, {
    key: request.key,
    type: mountPath === null ? 'VALUE' : 'FILE',
    value: scene.isSecret ? null : value,
    secret_value_id: scene.isSecret ? await storeSecret(scene, value) : null,
    reference_keys: scene.isSecret ? referenceKeys(value) : null,
    target_id: null,
    target_builtin: null,
    mount_path: mountPath,
    description: request.description ?? null,
    enable_interpolation_in_file: request.enable_interpolation_in_file ?? null,
  });
}

/** Gives a visible variable (or secret, for secrets) a second key at the service. */
export async function createAlias(scene: Scene, targetId: string, request: AliasRequest): Promise<Stored> {
  const rows = await visibleVariables(scene.tx, scene.place);
  const target = rows.find((row) => row.id === targetId && row.is_secret === scene.isSecret);
  const builtIn = scene.isSecret ? undefined : scene.place.builtIns.find(({ id }) => id === targetId);
  if (target === undefined && builtIn === undefined) throw notFound(nounOf(scene));
  if (target?.type === 'ALIAS') {
    throw invalid('', `${target.key} is an alias itself; make an alias of the ${nounOf(scene)} that it points at`);
  }
  if (builtIn?.isSetAtStart === true) {
    throw invalid('', `${builtIn.key} is set when an instance starts and cannot have an alias; read it by its own key`);
  }
  const problems = new Problems();
  checkKey(request.key, scene.deps.config.variablePrefix, problems);
  problems.throwIfAny();
  assertKeyFree(request.key, rows);
  return insert(scene, rows, {
    key: request.key,
    type: 'ALIAS',
    value: null,
    secret_value_id: null,
    reference_keys: null,
    target_id: target?.id ?? null,
    target_builtin: builtIn?.name ?? null,
    mount_path: null,
    description: request.description ?? null,
    enable_interpolation_in_file: request.enable_interpolation_in_file ?? null,
  });
}

/** Edits a variable or secret of the service itself. What is left out stays; a secret's new value is a new version. */
export async function editVariable(scene: Scene, id: string, request: VariableEditRequest): Promise<Stored> {
  const rows = await visibleVariables(scene.tx, scene.place);
  const row = ownRow(scene, rows, id);
  const value = request.value ?? null;
  assertEditable(row, request, { rows, place: scene.place });
  const problems = new Problems();
  if (request.key !== row.key) checkKey(request.key, scene.deps.config.variablePrefix, problems);
  if (value !== null && row.mount_path === null) checkLength(request.key, value, problems);
  problems.throwIfAny();
  if (request.key !== row.key) assertKeyFree(request.key, rows);
  const keeps = value === null || row.type === 'ALIAS';
  const edited: VariableRow = {
    ...row,
    key: request.key,
    value: scene.isSecret || keeps ? row.value : value,
    secret_value_id: scene.isSecret && !keeps ? await storeSecret(scene, value) : row.secret_value_id,
    description: request.description === undefined ? row.description : request.description,
    enable_interpolation_in_file:
      request.enable_interpolation_in_file === undefined
        ? row.enable_interpolation_in_file
        : request.enable_interpolation_in_file,
  };
  const written = await withConflicts(edited.key, () =>
    scene.tx.maybe(updateVariable, [
      id,
      edited.key,
      edited.value,
      edited.secret_value_id,
      edited.description,
      edited.enable_interpolation_in_file,
    ]),
  );
  if (written === undefined) throw notFound(nounOf(scene));
  const stored = { ...edited, ...written };
  return { row: stored, rows: rows.map((one) => (one.id === id ? stored : one)) };
}

/** Deletes a variable or secret of the service itself, and what points at it. */
export async function removeVariable(scene: Scene, id: string): Promise<void> {
  ownRow(scene, await visibleVariables(scene.tx, scene.place), id);
  if ((await scene.tx.run(deleteVariable, [id])) === 0) throw notFound(nounOf(scene));
}

/** A row as it is now stored, with all that the service sees. */
export interface Stored {
  readonly row: VariableRow;
  readonly rows: readonly VariableRow[];
}

type NewRow = Omit<
  VariableRow,
  'id' | 'project_id' | 'environment_id' | 'service_id' | 'is_secret' | 'created_at' | 'updated_at'
>;

async function insert({ tx, place, isSecret }: Scene, rows: readonly VariableRow[], fields: NewRow): Promise<Stored> {
  const id = randomUUID();
  const times = await withConflicts(fields.key, () =>
    tx.one(insertVariable, [
      id,
      place.organizationId,
      place.serviceId,
      fields.key,
      fields.type,
      isSecret,
      fields.value,
      fields.secret_value_id,
      fields.target_id,
      fields.target_builtin,
      fields.mount_path,
      fields.description,
      fields.enable_interpolation_in_file,
    ]),
  );
  const row: VariableRow = {
    ...fields,
    ...times,
    id,
    is_secret: isSecret,
    project_id: null,
    environment_id: null,
    service_id: place.serviceId,
  };
  return { row, rows: [...rows, row] };
}

/** Two requests may pass the checks at the same moment: the database has the last word. */
async function withConflicts<Result>(key: string, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    if (isUniqueViolation(error, 'variable_key')) throw keyTaken(`${key} exists already at this service`, error);
    if (isForeignKeyViolation(error)) throw notFound('variable');
    throw error;
  }
}

async function storeSecret({ deps, tx, place }: Scene, value: string): Promise<string> {
  const id = randomUUID();
  const sealed = deps.vault.seal(id, value);
  await tx.run(insertSecretValue, [id, place.organizationId, place.serviceId, sealed, referenceKeys(value)]);
  return id;
}

/** The row of that id when it is the service's own and of the kind that the operation is about. */
function ownRow(scene: Scene, rows: readonly VariableRow[], id: string): VariableRow {
  const row = rows.find((one) => one.id === id && one.is_secret === scene.isSecret);
  if (row !== undefined && row.service_id !== null) return row;
  const builtIn = scene.isSecret ? undefined : scene.place.builtIns.find((one) => one.id === id);
  if (builtIn !== undefined)
    throw notEditable(`${builtIn.key} is a built-in variable: it follows from the service and its surroundings`);
  if (row === undefined) throw notFound(nounOf(scene));
  const where = row.environment_id === null ? 'project' : 'environment';
  throw notEditable(`${row.key} belongs to the ${where} and cannot be changed from a service`);
}

function assertEditable(
  row: VariableRow,
  request: VariableEditRequest,
  { rows, place }: { readonly rows: readonly VariableRow[]; readonly place: VariablePlace },
): void {
  if (row.type === 'OVERRIDE' && request.key !== row.key) {
    throw notEditable(`${row.key} overrides a variable and keeps its key; delete it to end the override`);
  }
  if (row.type !== 'ALIAS' || (request.value ?? null) === null) return;
  // Clients send back what they read.
  if (!row.is_secret && request.value === variableRecord(row, place, rows).value) return;
  throw notEditable(`${row.key} is an alias: its value is that of its target, change it there`);
}

function assertKeyFree(key: string, rows: readonly VariableRow[]): void {
  const taken = rows.filter((row) => row.key === key);
  if (taken.some((row) => row.service_id !== null)) {
    throw keyTaken(`${key} exists already at this service, as a variable or as a secret`);
  }
  const [inherited] = taken;
  if (inherited === undefined) return;
  const where = inherited.environment_id === null ? 'project' : 'environment';
  throw keyTaken(
    `${key} is inherited from the ${where}; a different value at this service is an override of it, not a second variable`,
  );
}

// One entry of a process's environment, key and `=` included (MAX_ARG_STRLEN of Linux, with its final NUL).
const longestEntryBytes = 131_071;

function checkLength(key: string, value: string, problems: Problems): void {
  if (Buffer.byteLength(key) + 1 + Buffer.byteLength(value) <= longestEntryBytes) return;
  problems.add(
    'value',
    `is too long for a process's environment (${longestEntryBytes} bytes with its key); set mount_path to give it as a file`,
  );
}

function checkMountPath(mountPath: string | null, rows: readonly VariableRow[], problems: Problems): void {
  if (mountPath === null) return;
  const isPath = mountPath.startsWith('/') && !mountPath.endsWith('/') && !mountPath.includes('//');
  if (!isPath || leavesRoot(mountPath) || hasControlCharacter(mountPath)) {
    problems.add('mount_path', 'must be the absolute path of a file, without .., double slashes or control characters');
    return;
  }
  const other = rows.find((row) => row.mount_path === mountPath);
  if (other !== undefined) problems.add('mount_path', `is where ${other.key} is mounted; choose another path`);
}

function nounOf({ isSecret }: Pick<Scene, 'isSecret'>): string {
  return isSecret ? 'secret' : 'variable';
}

function keyTaken(message: string, cause?: unknown): AppError {
  return new AppError({ code: 'KEY_TAKEN', message: `${message}.`, cause });
}

function notEditable(message: string): AppError {
  return new AppError({ code: 'VARIABLE_NOT_EDITABLE', message: `${message}.` });
}
