import type { Queryable } from '@davit/db';
import type { ChangedSinceSuccess, FailureRecord } from '../model.ts';
import { changedFields, fieldsOf } from '../plan/fields.ts';
import { lastWorking, releasesOfService, type ReleaseRow } from '../store/releases.ts';

/** A failure is part of lists, events and logs, so it has no more changes than a reader can survey. */
const mostChanges = 50;

/** Number of changes that a line of a log names. */
const mostNamed = 8;

/**
 * Returns the failure with what changed between the release with which the service worked last and the one that failed.
 * Must run before the failed deployment of the service is recorded as ended.
 */
export async function withChanges(
  db: Queryable,
  { serviceId, releaseId }: { readonly serviceId: string; readonly releaseId: string | null },
  failure: FailureRecord,
): Promise<FailureRecord> {
  if (releaseId === null) return failure;
  const working = await db.maybe(lastWorking, [serviceId, null]);
  const failed = await db.maybe(releasesOfService, [serviceId, [releaseId]]);
  if (working === undefined || failed === undefined) return { ...failure, changedSinceSuccess: null };
  const changes = changedFields(fieldsOfRow(working), fieldsOfRow(failed));
  const changed = { releaseId: working.id, at: working.worked_at, changes: changes.slice(0, mostChanges), total: changes.length };
  return { ...failure, changedSinceSuccess: changed };
}

/** Returns a sentence for the log of the deployment; null if the service never worked. */
export function sentenceOf(changed: ChangedSinceSuccess | null): string | null {
  if (changed === null) return null;
  if (changed.total === 0) return 'the same settings worked before; what changed is outside of Davit.';
  const named = changed.changes.slice(0, mostNamed).map(({ path, kind }) => `${path} (${kind.toLowerCase()})`);
  const more = changed.total > named.length ? ` and ${changed.total - named.length} more` : '';
  return `changed since it last worked: ${named.join(', ')}${more}.`;
}

function fieldsOfRow({ config, commit, image_id: imageId }: ReleaseRow): ReturnType<typeof fieldsOf> {
  return fieldsOf({ config, commit, imageId });
}
