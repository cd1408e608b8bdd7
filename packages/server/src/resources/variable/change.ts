import { AppError } from '@davit/base';
import { isForeignKeyViolation, isUniqueViolation, type Queryable } from '@davit/db';
import type { Needs } from '../../deps.ts';
import { notFound } from '../shared/problems.ts';
import type { BuiltIn } from './builtin.ts';
import { idOf, levelOf, type VariableOwner } from './owner.ts';
import { levelNouns, type VariableRow } from './row.ts';
import { readVariables } from './store.ts';

/** The transaction of a change, and the owner that it locks. */
export interface VariableChange {
  readonly deps: Needs<'vault', 'variablePrefix'>;
  readonly tx: Queryable;
  readonly owner: VariableOwner;
  /**
   * The rows that the owner sees, to avoid reading them again for each of many changes. A caller that sets this member
   * must check for cycles at the end.
   */
  readonly known?: readonly VariableRow[];
}

/** The subject of an operation: variables (false), secrets (true), or both (undefined). */
export type IsSecret = boolean | undefined;

/** A row after its change, with all rows that the owner sees. */
export interface Stored {
  readonly row: VariableRow;
  readonly rows: readonly VariableRow[];
}

/** Returns all rows that an owner sees: its own rows, and those of its environment and project. */
export function visibleVariables(
  db: Queryable,
  { projectId, environmentId, serviceId }: { projectId: string; environmentId: string | null; serviceId: string | null },
): Promise<VariableRow[]> {
  return db.many(readVariables, [[serviceId, environmentId, projectId].filter((id) => id !== null)]);
}

export function visibleAt(db: Queryable, owner: VariableOwner): Promise<VariableRow[]> {
  return visibleVariables(db, { ...owner, serviceId: owner.service?.id ?? null });
}

export async function rowsOf({
  tx,
  owner,
  known,
}: Pick<VariableChange, 'tx' | 'owner' | 'known'>): Promise<readonly VariableRow[]> {
  return known ?? visibleAt(tx, owner);
}

/** Returns whether an operation on variables or secrets sees the row. */
export function isOfSort(row: Pick<VariableRow, 'is_secret'>, isSecret: IsSecret): boolean {
  return isSecret === undefined || row.is_secret === isSecret;
}

/** Returns whether an operation on variables or secrets sees the built-in variable. */
export function isBuiltInOfSort({ secret }: BuiltIn, isSecret: IsSecret): boolean {
  return isSecret === undefined || (secret !== null) === isSecret;
}

export function sortNoun(isSecret: IsSecret): string {
  return isSecret === true ? 'secret' : 'variable';
}

/** Returns `service`, `environment` or `project`. */
export function ownerNoun(owner: VariableOwner): string {
  return levelNouns[levelOf(owner)];
}

/**
 * Returns id, organization, project, environment and service, the first values of a new row. Exactly one of the last
 * three is set.
 */
export function parentValues(id: string, owner: VariableOwner): readonly (string | null)[] {
  const own = idOf(owner);
  const [project, environment, service] = [0, 1, 2].map((level) => (levelOf(owner) === level ? own : null));
  return [id, owner.organizationId, project ?? null, environment ?? null, service ?? null];
}

/** Converts conflicts that the database detects, as two concurrent requests may both pass the checks. */
export async function withConflicts<Result>(
  { key, owner }: { readonly key: string; readonly owner: VariableOwner },
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    if (isUniqueViolation(error, 'variable_key')) {
      throw keyTaken(`${key} exists already at this ${ownerNoun(owner)}, or below it where the old key is overridden`, error);
    }
    if (isForeignKeyViolation(error)) throw notFound('variable');
    throw error;
  }
}

export function keyTaken(message: string, cause?: unknown): AppError {
  return new AppError({ code: 'KEY_TAKEN', message: `${message}.`, cause });
}

export function notEditable(message: string): AppError {
  return new AppError({ code: 'VARIABLE_NOT_EDITABLE', message: `${message}.` });
}

/** Returns a VARIABLE_CYCLE error. `way` begins and ends with the same key. */
export function cycle(way: readonly string[], where: string): AppError {
  const [first] = way;
  const keys = way.length > 12 ? [...way.slice(0, 11), '…', first] : way;
  const text = `${keys.join(' → ')}: the value of ${first} refers to itself ${where}, so it can never be resolved`;
  const hint = 'Remove one of these {{references}}';
  return new AppError({ code: 'VARIABLE_CYCLE', message: `${text}. ${hint}.` });
}
