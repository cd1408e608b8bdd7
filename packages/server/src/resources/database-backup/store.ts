import type { EnvironmentMode } from '@davit/contract';
import { statement } from '@davit/db';
import type { DatabaseSpec } from '../service/index.ts';

export interface DatabaseRow {
  readonly id: string;
  readonly organization_id: string;
  readonly environment_id: string;
  readonly name: string;
  readonly spec: DatabaseSpec;
}

/** Parameters: id, organization of the caller or null. */
export const readDatabase = statement<DatabaseRow>(
  'readDatabaseForBackup',
  `SELECT id, organization_id, environment_id, name, spec FROM service
    WHERE id = $1 AND type = 'DATABASE' AND ($2::uuid IS NULL OR organization_id = $2)`,
);

export const readPlace = statement<{ project_id: string; mode: EnvironmentMode }>(
  'readPlaceOfBackup',
  `SELECT project_id, mode FROM environment WHERE id = $1`,
);

export interface DueRow extends DatabaseRow {
  /** Null: the first backup of the database. */
  readonly next_at: string | null;
}

/** Parameter: the current time. Returns running managed databases whose next backup is due, the longest due first. */
export const dueDatabases = statement<DueRow>(
  'databasesDueForBackup',
  `SELECT s.id, s.organization_id, s.environment_id, s.name, s.spec, d.next_at
     FROM service s JOIN service_runtime t ON t.service_id = s.id AND t.desired = 'RUNNING'
     LEFT JOIN database_backup_schedule d ON d.service_id = s.id
    WHERE s.type = 'DATABASE' AND s.spec ->> 'mode' = 'MANAGED' AND (d.next_at IS NULL OR d.next_at <= $1)
    ORDER BY d.next_at NULLS FIRST, s.id LIMIT 100`,
);

/**
 * Parameters: service, due time or null, next due time. Returns no row if another process has already advanced the
 * schedule.
 */
export const moveOn = statement<{ service_id: string }>(
  'moveBackupScheduleOn',
  `INSERT INTO database_backup_schedule AS d (service_id, next_at) SELECT s.id, $3 FROM service s WHERE s.id = $1
   ON CONFLICT (service_id) DO UPDATE SET next_at = excluded.next_at WHERE d.next_at = $2::timestamptz RETURNING service_id`,
);

/** Stores since when a backup no longer has a database. */
export const noteOrphans = statement(
  'noteOrphanedDatabaseBackups',
  `UPDATE database_backup b SET orphaned_at = clock_timestamp()
    WHERE orphaned_at IS NULL AND NOT is_leaving AND NOT EXISTS (SELECT 1 FROM service s WHERE s.id = b.service_id)`,
);

/**
 * Parameter: days. Marks for removal the backups whose environment is gone, or whose database has been gone for that
 * many days, unless a restore needs them.
 */
export const letOrphansGo = statement(
  'letOrphanedDatabaseBackupsGo',
  `UPDATE database_backup b SET is_leaving = true
    WHERE orphaned_at IS NOT NULL AND NOT is_leaving
      AND (orphaned_at <= clock_timestamp() - make_interval(days => $1)
           OR NOT EXISTS (SELECT 1 FROM environment e WHERE e.id = b.environment_id))
      AND NOT EXISTS (SELECT 1 FROM database_restore r WHERE r.status IN ('QUEUED', 'RUNNING') AND b.id IN (r.backup_id, r.safety_id))`,
);

export const forgetRestores = statement(
  'forgetOrphanedDatabaseRestores',
  `DELETE FROM database_restore r
    WHERE status IN ('SUCCEEDED', 'FAILED') AND NOT EXISTS (SELECT 1 FROM service s WHERE s.id = r.service_id)`,
);
