import { statement } from '@davit/db';
import type { BackupSubject, FailureRecord, ReleaseConfig } from '../model.ts';

export type BackupStatus = 'QUEUED' | 'RUNNING' | 'GOOD' | 'FAILED';
export type BackupKind = 'MANUAL' | 'SCHEDULED' | 'SAFETY';

export interface BackupRow {
  readonly id: string;
  readonly service_id: string;
  readonly organization_id: string;
  readonly environment_id: string;
  readonly name: string;
  readonly message: string;
  readonly kind: BackupKind;
  readonly subject: BackupSubject;
  readonly status: BackupStatus;
  readonly attempt: number;
  readonly size_bytes: number | null;
  readonly sha256: string | null;
  readonly server_version: string | null;
  readonly image_id: string | null;
  readonly data_bytes: number | null;
  readonly failure: FailureRecord | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly begun_at: string | null;
  readonly stored_at: string | null;
  readonly proven_at: string | null;
  readonly finished_at: string | null;
}

const columns = `b.id, b.service_id, b.organization_id, b.environment_id, b.name, b.message, b.kind, b.subject, b.status, b.attempt,
  b.size_bytes, b.sha256, b.server_version, b.image_id, b.data_bytes, b.failure, b.created_at, b.updated_at, b.begun_at, b.stored_at, b.proven_at,
  b.finished_at`;

/**
 * Parameters: service or null, environment or null, backup before which the results were created or null, limit. Newest
 * first.
 */
export const listBackups = statement<BackupRow>(
  'listDatabaseBackups',
  `SELECT ${columns} FROM database_backup b
    WHERE ($1::uuid IS NULL OR b.service_id = $1) AND ($2::uuid IS NULL OR b.environment_id = $2) AND NOT b.is_leaving
      AND ($3::uuid IS NULL OR (b.created_at, b.id) < (SELECT f.created_at, f.id FROM database_backup f WHERE f.id = $3))
    ORDER BY b.created_at DESC, b.id DESC LIMIT $4`,
);

export const readBackup = statement<BackupRow>(
  'readDatabaseBackup',
  `SELECT ${columns} FROM database_backup b WHERE b.id = $1 AND NOT b.is_leaving`,
);

/**
 * Parameters: id, service, organization, environment, name, message, kind, subject. Returns no row if a scheduled
 * backup of the service is queued or running.
 */
export const insertBackup = statement<BackupRow>(
  'insertDatabaseBackup',
  `INSERT INTO database_backup AS b (id, service_id, organization_id, environment_id, name, message, kind, subject)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
   ON CONFLICT (service_id) WHERE kind = 'SCHEDULED' AND status IN ('QUEUED', 'RUNNING') AND NOT is_leaving DO NOTHING
   RETURNING ${columns}`,
);

/**
 * Marks a backup for removal. Parameter: id. The backup runner first ends the work on the backup, then removes its
 * file, then deletes the row.
 */
export const letBackupGo = statement<{ id: string }>(
  'letDatabaseBackupGo',
  `UPDATE database_backup SET is_leaving = true WHERE id = $1 AND NOT is_leaving RETURNING id`,
);

/** Returns whether a queued or running restore needs the backup. Parameter: backup. */
export const isBackupInUse = statement<{ used: boolean }>(
  'isDatabaseBackupInUse',
  `SELECT EXISTS (SELECT 1 FROM database_restore r WHERE r.status IN ('QUEUED', 'RUNNING') AND $1 IN (r.backup_id, r.safety_id)) AS used`,
);

export interface RestoreRow {
  readonly id: string;
  readonly service_id: string;
  readonly environment_id: string;
  readonly backup_id: string;
  readonly safety_id: string | null;
  readonly subject: BackupSubject;
  readonly status: 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED';
  readonly attempt: number;
  readonly failure: FailureRecord | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly finished_at: string | null;
}

const restoreColumns = `r.id, r.service_id, r.environment_id, r.backup_id, r.safety_id, r.subject, r.status, r.attempt, r.failure, r.created_at,
  r.updated_at, r.finished_at`;

/** Parameter: service. Newest first. */
export const listRestores = statement<RestoreRow>(
  'listDatabaseRestores',
  `SELECT ${restoreColumns} FROM database_restore r WHERE r.service_id = $1 ORDER BY r.created_at DESC, r.id DESC LIMIT 1000`,
);

/**
 * Parameters: id, service, organization, environment, backup, safety backup or null, subject. Returns no row if another
 * restore of the service is queued or running.
 */
export const insertRestore = statement<RestoreRow>(
  'insertDatabaseRestore',
  `INSERT INTO database_restore AS r (id, service_id, organization_id, environment_id, backup_id, safety_id, subject)
   VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (service_id) WHERE status IN ('QUEUED', 'RUNNING') DO NOTHING RETURNING ${restoreColumns}`,
);

/** Returns the ids of backups and restores that are running. Their temporary instances are not leftovers. */
export const openBackupWork = statement<{ id: string }>(
  'openDatabaseBackupWork',
  `SELECT id FROM database_backup WHERE status = 'RUNNING' AND NOT is_leaving
   UNION ALL SELECT id FROM database_restore WHERE status = 'RUNNING'`,
);

/** The cluster (`driver`) of the database of a backup or restore; null if the database was never deployed. */
export interface Placed {
  readonly driver: string | null;
}

/** Returns queued and running backups, oldest first, including those that an earlier process began. */
export const openBackups = statement<BackupRow & Placed>(
  'openDatabaseBackups',
  `SELECT ${columns}, r.driver FROM database_backup b LEFT JOIN service_runtime r ON r.service_id = b.service_id
    WHERE b.status IN ('QUEUED', 'RUNNING') AND NOT b.is_leaving ORDER BY b.created_at, b.id LIMIT 500`,
);

export const openRestores = statement<RestoreRow & Placed & { readonly safety_status: BackupStatus | null }>(
  'openDatabaseRestores',
  `SELECT ${restoreColumns}, s.status AS safety_status, p.driver
     FROM database_restore r LEFT JOIN database_backup s ON s.id = r.safety_id LEFT JOIN service_runtime p ON p.service_id = r.service_id
    WHERE r.status IN ('QUEUED', 'RUNNING') ORDER BY r.created_at, r.id LIMIT 500`,
);

export const leavingBackups = statement<{ id: string }>(
  'leavingDatabaseBackups',
  `SELECT id FROM database_backup WHERE is_leaving ORDER BY created_at LIMIT 500`,
);

export const forgetBackup = statement('forgetDatabaseBackup', `DELETE FROM database_backup WHERE id = $1 AND is_leaving`);

/** Parameter: id. Returns no row if the backup has finished or is marked for removal. */
export const beginBackup = statement<{ attempt: number; stored_at: string | null; sealed_key: Buffer | null }>(
  'beginDatabaseBackup',
  `UPDATE database_backup SET status = 'RUNNING', attempt = attempt + 1, begun_at = coalesce(begun_at, clock_timestamp())
    WHERE id = $1 AND status IN ('QUEUED', 'RUNNING') AND NOT is_leaving RETURNING attempt, stored_at, sealed_key`,
);

/** Parameters: id, attempt, sealed key. */
export const noteKey = statement(
  'noteDatabaseBackupKey',
  `UPDATE database_backup SET sealed_key = $3 WHERE id = $1 AND attempt = $2 AND status = 'RUNNING'`,
);

/** Parameters: id, attempt, size, SHA-256, server version, image, bytes of data. */
export const noteStored = statement(
  'noteDatabaseBackupStored',
  `UPDATE database_backup SET stored_at = clock_timestamp(), size_bytes = $3, sha256 = $4, server_version = $5, image_id = $6, data_bytes = $7
    WHERE id = $1 AND attempt = $2 AND status = 'RUNNING' AND NOT is_leaving`,
);

/** Parameters: id, attempt, failure. A null failure means that the backup is proven. */
export const endBackup = statement(
  'endDatabaseBackup',
  `UPDATE database_backup
      SET status = CASE WHEN $3::jsonb IS NULL THEN 'GOOD' ELSE 'FAILED' END, failure = $3,
          proven_at = CASE WHEN $3::jsonb IS NULL THEN clock_timestamp() END, finished_at = clock_timestamp()
    WHERE id = $1 AND attempt = $2 AND status = 'RUNNING'`,
);

/**
 * Marks old scheduled backups for removal. Parameters: service, number of good backups to keep. Backups that a restore
 * needs are kept too. The same number of failed backups is kept, as reports.
 */
export const retireScheduled = statement(
  'retireScheduledDatabaseBackups',
  `UPDATE database_backup SET is_leaving = true
    WHERE service_id = $1 AND kind = 'SCHEDULED' AND NOT is_leaving AND status IN ('GOOD', 'FAILED')
      AND NOT EXISTS (SELECT 1 FROM database_restore r WHERE r.status IN ('QUEUED', 'RUNNING') AND r.backup_id = database_backup.id)
      AND id NOT IN (SELECT id FROM database_backup
                      WHERE service_id = $1 AND kind = 'SCHEDULED' AND NOT is_leaving AND status = 'GOOD'
                      ORDER BY created_at DESC LIMIT $2)
      AND id NOT IN (SELECT id FROM database_backup
                      WHERE service_id = $1 AND kind = 'SCHEDULED' AND NOT is_leaving AND status = 'FAILED'
                      ORDER BY created_at DESC LIMIT $2)`,
);

export const beginRestore = statement<{ attempt: number }>(
  'beginDatabaseRestore',
  `UPDATE database_restore SET status = 'RUNNING', attempt = attempt + 1, begun_at = coalesce(begun_at, clock_timestamp())
    WHERE id = $1 AND status IN ('QUEUED', 'RUNNING') RETURNING attempt`,
);

/**
 * Parameters: id, attempt, failure. A null attempt matches any attempt; a null failure means that the restore
 * succeeded.
 */
export const endRestore = statement(
  'endDatabaseRestore',
  `UPDATE database_restore SET status = CASE WHEN $3::jsonb IS NULL THEN 'SUCCEEDED' ELSE 'FAILED' END, failure = $3,
          finished_at = clock_timestamp()
    WHERE id = $1 AND attempt = coalesce($2, attempt) AND status IN ('QUEUED', 'RUNNING')`,
);

/**
 * Marks a good backup as failed because a restore found it damaged, even though it was proven before. Parameters:
 * backup, failure.
 */
export const markDamaged = statement(
  'markDamagedDatabaseBackup',
  `UPDATE database_backup SET status = 'FAILED', failure = $2::jsonb WHERE id = $1 AND status = 'GOOD'`,
);

/** Returns the sealed key, size and checksum of a backup. Parameter: backup. */
export const readSealed = statement<{ sealed_key: Buffer | null; size_bytes: number | null; sha256: string | null }>(
  'readSealedDatabaseBackup',
  `SELECT sealed_key, size_bytes, sha256 FROM database_backup WHERE id = $1`,
);

export interface BenchPlace {
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment_id: string;
  readonly driver: string;
  readonly desired: 'RUNNING' | 'STOPPED' | 'NONE';
  readonly config: ReleaseConfig | null;
  readonly image_id: string | null;
}

/** Returns where a service is deployed, with its release. Parameter: service. */
export const benchPlace = statement<BenchPlace>(
  'backupBenchPlace',
  `SELECT t.organization_id, t.project_id, t.environment_id, t.driver, t.desired, r.config, r.image_id
     FROM service_runtime t LEFT JOIN release r ON r.id = t.release_id WHERE t.service_id = $1`,
);
