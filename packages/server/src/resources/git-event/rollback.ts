import type { Queryable } from '@davit/db';
import { replacingBranch } from './store.ts';

/**
 * Returns a note for the log of a rollback: the next push replaces the release. Empty for all other deployments, and
 * without auto_deploy.
 */
export async function rollbackRemarks(db: Queryable, serviceId: string, releaseId: string): Promise<readonly string[]> {
  const found = await db.maybe(replacingBranch, [serviceId, releaseId]);
  if (found === undefined) return [];
  const branch = found.branch ?? 'the default branch';
  return [`auto_deploy is on: the next push to ${branch} replaces this earlier release. Switch auto_deploy off to keep it.`];
}
