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
  'read_database_for_backup',
  `select id, organization_id, environment_id, name, spec from service
    where id = $1 and type = 'DATABASE' and ($2::uuid is null or organization_id = $2)`,
);

export const readEnvironment = statement<{ project_id: string; mode: EnvironmentMode }>(
  'read_place_of_backup',
  `select project_id, mode from environment where id = $1`,
);

export interface DueRow extends DatabaseRow {
  /** Null: the first backup of the database. */
  readonly next_at: string | null;
}

/** Parameter: the current time. Returns running managed databases whose next backup is due, the longest due first. */
export const dueDatabases = statement<DueRow>(
  'databases_due_for_backup',
  `select s.id, s.organization_id, s.environment_id, s.name, s.spec, d.next_at
     from service s join service_runtime t on t.service_id = s.id and t.desired = 'RUNNING'
     left join database_backup_schedule d on d.service_id = s.id
    where s.type = 'DATABASE' and s.spec ->> 'mode' = 'MANAGED' and (d.next_at is null or d.next_at <= $1)
    order by d.next_at nulls first, s.id limit 100`,
);

/**
 * Parameters: service, due time or null, next due time. Returns no row if another process has already advanced the
 * schedule.
 */
export const moveOn = statement<{ service_id: string }>(
  'move_backup_schedule_on',
  `insert into database_backup_schedule as d (service_id, next_at) select s.id, $3 from service s where s.id = $1
   on conflict (service_id) do update set next_at = excluded.next_at where d.next_at = $2::timestamptz returning service_id`,
);

/** Stores since when a backup no longer has a database. */
export const noteOrphans = statement(
  'note_orphaned_database_backups',
  `update database_backup b set orphaned_at = clock_timestamp()
    where orphaned_at is null and not is_leaving and not exists (select 1 from service s where s.id = b.service_id)`,
);

/**
 * Parameter: days. Marks for removal the backups whose environment is gone, or whose database has been gone for that
 * many days, unless a restore needs them.
 */
export const letOrphansGo = statement(
  'let_orphaned_database_backups_go',
  `update database_backup b set is_leaving = true
    where orphaned_at is not null and not is_leaving
      and (orphaned_at <= clock_timestamp() - make_interval(days => $1)
           or not exists (select 1 from environment e where e.id = b.environment_id))
      and not exists (select 1 from database_restore r where r.status in ('QUEUED', 'RUNNING') and b.id in (r.backup_id, r.safety_id))`,
);

export const forgetRestores = statement(
  'forget_orphaned_database_restores',
  `delete from database_restore r
    where status in ('SUCCEEDED', 'FAILED') and not exists (select 1 from service s where s.id = r.service_id)`,
);
