import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import { notFound } from '../shared/problems.ts';
import { readEnvironment, type EnvironmentRow } from './store.ts';

/** Returns the environment. Fails with NOT_FOUND unless the caller may see it. */
export async function readVisibleEnvironment(db: Queryable, caller: Caller, id: string): Promise<EnvironmentRow> {
  const row = await db.batched(readEnvironment, [id, caller.organizationId]);
  if (row === undefined) throw notFound('environment');
  return row;
}
