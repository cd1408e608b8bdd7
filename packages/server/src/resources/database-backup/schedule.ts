import { nextRun } from '@davit/engine/port';
import type { Deps } from '../../deps.ts';
import { backupSubject } from '../service/index.ts';
import * as store from './store.ts';

/** A database whose backup could not be asked for this time. */
export interface BackupScheduleFailure {
  readonly databaseId: string;
  readonly error: unknown;
}

/**
 * Asks for the backups that are due, the first one of a database as soon as it runs, so that what is wrong with backups shows on the
 * first day. Any number of processes may do so at once: the time is moved on in the transaction that asks, so each one is asked for once.
 * Of times that were missed, one is made up for.
 */
export async function askForDueBackups(deps: Deps, now: Date): Promise<readonly BackupScheduleFailure[]> {
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

async function askFor(deps: Deps, row: store.DueRow, now: Date): Promise<void> {
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

/** Lets the backups of databases and environments that are gone go at their time. */
export async function trimOrphanedBackups({ database, config }: Deps): Promise<void> {
  await database.run(store.noteOrphans);
  await database.run(store.letOrphansGo, [config.orphanBackupDays]);
  await database.run(store.forgetRestores);
}
