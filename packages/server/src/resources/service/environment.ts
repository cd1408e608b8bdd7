import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { notFound } from '../shared/problems.ts';
import { readEnvironment, type EnvironmentRow } from './store.ts';

const mostRemembered = 1_000;
const remembered = new WeakMap<object, Map<string, EnvironmentRow>>();

/** Returns the environment. Fails with NOT_FOUND unless the caller may see it. */
export async function readVisibleEnvironment(db: Queryable, caller: Caller, id: string): Promise<EnvironmentRow> {
  const row = await db.maybe(readEnvironment, [id, caller.organizationId]);
  if (row === undefined) throw notFound('environment');
  return row;
}

/**
 * Returns the environment from memory, and asks the database only if it is unknown. The environment may be out of date
 * or already deleted: a caller that writes must check the environment, and must forget it if it is outdated. Fails with
 * NOT_FOUND.
 */
export async function rememberedEnvironment(deps: Needs<'database'>, caller: Caller, id: string): Promise<EnvironmentRow> {
  let rows = remembered.get(deps);
  if (rows === undefined) remembered.set(deps, (rows = new Map()));
  const known = rows.get(id);
  // An environment never moves to another organization.
  if (known !== undefined && (caller.organizationId === null || caller.organizationId === known.organization_id)) return known;
  const row = await readVisibleEnvironment(deps.database, caller, id);
  const [oldest] = rows.keys();
  if (rows.size >= mostRemembered && oldest !== undefined) rows.delete(oldest);
  rows.set(id, row);
  return row;
}

export function forgetEnvironment(deps: object, id: string): void {
  remembered.get(deps)?.delete(id);
}
