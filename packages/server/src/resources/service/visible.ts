import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import { notFound } from '../shared/problems.ts';
import type { ServiceFacts } from './rows.ts';
import { readEnvironment, readFacts, type EnvironmentRow } from './store.ts';

/** Returns the environment. Fails with NOT_FOUND unless the caller may see it. */
export async function readVisibleEnvironment(db: Queryable, caller: Caller, id: string): Promise<EnvironmentRow> {
  const row = await db.batched(readEnvironment, [id, caller.organizationId]);
  if (row === undefined) throw notFound('environment');
  return row;
}

/** Returns the service. A `type` of null means any. Fails with NOT_FOUND unless the caller may see it. */
export async function readVisibleFacts(
  db: Queryable,
  caller: Caller,
  { id, type }: { readonly id: string; readonly type: string | null },
): Promise<ServiceFacts> {
  const facts = await db.maybe(readFacts, [id, type, caller.organizationId]);
  if (facts === undefined) throw notFound('service');
  return facts;
}
