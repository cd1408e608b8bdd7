import { nextRun } from '@davit/engine/port';
import type { Needs } from '../../deps.ts';
import * as store from './store.ts';
import { backupSubject } from './subject.ts';

/** A database whose backup could not be requested this time. */
export interface BackupScheduleFailure {
  readonly databaseId: string;
  readonly error: unknown;
}

/**
 * Requests the backups that are due. The first backup of a database is requested as soon as the database runs, so that
 * problems with backups show on the first day. Any number of processes may do so at once: the transaction that requests
 * a backup also advances the schedule, so each backup is requested once. Several missed backups are replaced by a
 * single one.
 */
export async function askForDueBackups(
  deps: Needs<'database' | 'engine', 'backupSchedule'>,
  now: Date,
): Promise<readonly BackupScheduleFailure[]> {
  const failures: BackupScheduleFailure[] = [];
  for (const row of await deps.database.many(store.dueDatabases, [now.toISOString()])) {
    try {
      await askFor(deps, row, now);
    } catch (error) {
      failures.push({ databaseId: row.id, error });
    }
  }
  return failures;
}

async function askFor(deps: Needs<'database' | 'engine', 'backupSchedule'>, row: store.DueRow, now: Date): Promise<void> {
  const next = nextRun({ expression: deps.config.backupSchedule, timezone: 'Etc/UTC' }, now)?.toISOString() ?? 'infinity';
  await deps.database.transaction(async (tx) => {
    if ((await tx.maybe(store.moveOn, [row.id, row.next_at, next])) === undefined) return;
    await deps.engine.backups.add(tx, {
      serviceId: row.id,
      organizationId: row.organization_id,
      environmentId: row.environment_id,
      subject: backupSubject(row),
      name: `scheduled ${now.toISOString().slice(0, 16)}Z`,
      message: '',
      kind: 'SCHEDULED',
    });
  });
}

/** Removes the backups of deleted databases and environments when their retention time has passed. */
export async function trimOrphanedBackups({ database, config }: Needs<'database', 'orphanBackupDays'>): Promise<void> {
  await database.run(store.noteOrphans);
  await database.run(store.letOrphansGo, [config.orphanBackupDays]);
  await database.run(store.forgetRestores);
}
