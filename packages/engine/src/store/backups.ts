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
  'list_database_backups',
  `select ${columns} from database_backup b
    where ($1::uuid is null or b.service_id = $1) and ($2::uuid is null or b.environment_id = $2) and not b.is_leaving
      and ($3::uuid is null or (b.created_at, b.id) < (select f.created_at, f.id from database_backup f where f.id = $3))
    order by b.created_at desc, b.id desc limit $4`,
);

export const readBackup = statement<BackupRow>(
  'read_database_backup',
  `select ${columns} from database_backup b where b.id = $1 and not b.is_leaving`,
);

/**
 * Parameters: id, service, organization, environment, name, message, kind, subject. Returns no row if a scheduled
 * backup of the service is queued or running.
 */
export const insertBackup = statement<BackupRow>(
  'insert_database_backup',
  `insert into database_backup as b (id, service_id, organization_id, environment_id, name, message, kind, subject)
   values ($1, $2, $3, $4, $5, $6, $7, $8)
   on conflict (service_id) where kind = 'SCHEDULED' and status in ('QUEUED', 'RUNNING') and not is_leaving do nothing
   returning ${columns}`,
);

/**
 * Marks a backup for removal. Parameter: id. The backup runner first ends the work on the backup, then removes its
 * file, then deletes the row.
 */
export const letBackupGo = statement<{ id: string }>(
  'let_database_backup_go',
  `update database_backup set is_leaving = true where id = $1 and not is_leaving returning id`,
);

/** Returns whether a queued or running restore needs the backup. Parameter: backup. */
export const isBackupInUse = statement<{ used: boolean }>(
  'is_database_backup_in_use',
  `select exists (select 1 from database_restore r where r.status in ('QUEUED', 'RUNNING') and $1 in (r.backup_id, r.safety_id)) as used`,
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
  'list_database_restores',
  `select ${restoreColumns} from database_restore r where r.service_id = $1 order by r.created_at desc, r.id desc limit 1000`,
);

/**
 * Parameters: id, service, organization, environment, backup, safety backup or null, subject. Returns no row if another
 * restore of the service is queued or running.
 */
export const insertRestore = statement<RestoreRow>(
  'insert_database_restore',
  `insert into database_restore as r (id, service_id, organization_id, environment_id, backup_id, safety_id, subject)
   values ($1, $2, $3, $4, $5, $6, $7)
   on conflict (service_id) where status in ('QUEUED', 'RUNNING') do nothing returning ${restoreColumns}`,
);

/** Returns the ids of backups and restores that are running. Their temporary instances are not leftovers. */
export const openBackupWork = statement<{ id: string }>(
  'open_database_backup_work',
  `select id from database_backup where status = 'RUNNING' and not is_leaving
   union all select id from database_restore where status = 'RUNNING'`,
);

/** The cluster (`driver`) of the database of a backup or restore; null if the database was never deployed. */
export interface DatabaseCluster {
  readonly driver: string | null;
}

/** Returns queued and running backups, oldest first, including those that an earlier process began. */
export const openBackups = statement<BackupRow & DatabaseCluster>(
  'open_database_backups',
  `select ${columns}, r.driver from database_backup b left join service_runtime r on r.service_id = b.service_id
    where b.status in ('QUEUED', 'RUNNING') and not b.is_leaving order by b.created_at, b.id limit 500`,
);

export const openRestores = statement<RestoreRow & DatabaseCluster & { readonly safety_status: BackupStatus | null }>(
  'open_database_restores',
  `select ${restoreColumns}, s.status as safety_status, p.driver
     from database_restore r left join database_backup s on s.id = r.safety_id left join service_runtime p on p.service_id = r.service_id
    where r.status in ('QUEUED', 'RUNNING') order by r.created_at, r.id limit 500`,
);

export const leavingBackups = statement<{ id: string }>(
  'leaving_database_backups',
  `select id from database_backup where is_leaving order by created_at limit 500`,
);

export const forgetBackup = statement('forget_database_backup', `delete from database_backup where id = $1 and is_leaving`);

/** Parameter: id. Returns no row if the backup has finished or is marked for removal. */
export const beginBackup = statement<{ attempt: number; stored_at: string | null; sealed_key: Buffer | null }>(
  'begin_database_backup',
  `update database_backup set status = 'RUNNING', attempt = attempt + 1, begun_at = coalesce(begun_at, clock_timestamp())
    where id = $1 and status in ('QUEUED', 'RUNNING') and not is_leaving returning attempt, stored_at, sealed_key`,
);

/** Parameters: id, attempt, sealed key. */
export const noteKey = statement(
  'note_database_backup_key',
  `update database_backup set sealed_key = $3 where id = $1 and attempt = $2 and status = 'RUNNING'`,
);

/** Parameters: id, attempt, size, SHA-256, server version, image, bytes of data. */
export const noteStored = statement(
  'note_database_backup_stored',
  `update database_backup set stored_at = clock_timestamp(), size_bytes = $3, sha256 = $4, server_version = $5, image_id = $6, data_bytes = $7
    where id = $1 and attempt = $2 and status = 'RUNNING' and not is_leaving`,
);

/** Parameters: id, attempt, failure. A null failure means that the backup is proven. */
export const endBackup = statement(
  'end_database_backup',
  `update database_backup
      set status = case when $3::jsonb is null then 'GOOD' else 'FAILED' end, failure = $3,
          proven_at = case when $3::jsonb is null then clock_timestamp() end, finished_at = clock_timestamp()
    where id = $1 and attempt = $2 and status = 'RUNNING'`,
);

/**
 * Marks old scheduled backups for removal. Parameters: service, number of good backups to keep. Backups that a restore
 * needs are kept too. The same number of failed backups is kept, as reports.
 */
export const retireScheduled = statement(
  'retire_scheduled_database_backups',
  `update database_backup set is_leaving = true
    where service_id = $1 and kind = 'SCHEDULED' and not is_leaving and status in ('GOOD', 'FAILED')
      and not exists (select 1 from database_restore r where r.status in ('QUEUED', 'RUNNING') and r.backup_id = database_backup.id)
      and id not in (select id from database_backup
                      where service_id = $1 and kind = 'SCHEDULED' and not is_leaving and status = 'GOOD'
                      order by created_at desc limit $2)
      and id not in (select id from database_backup
                      where service_id = $1 and kind = 'SCHEDULED' and not is_leaving and status = 'FAILED'
                      order by created_at desc limit $2)`,
);

export const beginRestore = statement<{ attempt: number }>(
  'begin_database_restore',
  `update database_restore set status = 'RUNNING', attempt = attempt + 1, begun_at = coalesce(begun_at, clock_timestamp())
    where id = $1 and status in ('QUEUED', 'RUNNING') returning attempt`,
);

/**
 * Parameters: id, attempt, failure. A null attempt matches any attempt; a null failure means that the restore
 * succeeded.
 */
export const endRestore = statement(
  'end_database_restore',
  `update database_restore set status = case when $3::jsonb is null then 'SUCCEEDED' else 'FAILED' end, failure = $3,
          finished_at = clock_timestamp()
    where id = $1 and attempt = coalesce($2, attempt) and status in ('QUEUED', 'RUNNING')`,
);

/**
 * Marks a good backup as failed because a restore found it damaged, even though it was proven before. Parameters:
 * backup, failure.
 */
export const markDamaged = statement(
  'mark_damaged_database_backup',
  `update database_backup set status = 'FAILED', failure = $2::jsonb where id = $1 and status = 'GOOD'`,
);

/** Returns the sealed key, size and checksum of a backup. Parameter: backup. */
export const readSealed = statement<{ sealed_key: Buffer | null; size_bytes: number | null; sha256: string | null }>(
  'read_sealed_database_backup',
  `select sealed_key, size_bytes, sha256 from database_backup where id = $1`,
);

export interface ToolTarget {
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment_id: string;
  readonly driver: string;
  readonly desired: 'RUNNING' | 'STOPPED' | 'NONE';
  readonly config: ReleaseConfig | null;
  readonly image_id: string | null;
}

/** Returns where a service is deployed, with its release. Parameter: service. */
export const readToolTarget = statement<ToolTarget>(
  'backup_bench_place',
  `select t.organization_id, t.project_id, t.environment_id, t.driver, t.desired, r.config, r.image_id
     from service_runtime t left join release r on r.id = t.release_id where t.service_id = $1`,
);
