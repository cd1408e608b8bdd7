import type { EnvironmentMode, StreamKind } from '@davit/contract';
import { statement } from '@davit/db';

export interface EventRow {
  readonly sequence: number;
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment_id: string;
  readonly mode: EnvironmentMode | null;
  readonly service_id: string | null;
  readonly deployment_id: string | null;
  readonly kind: StreamKind;
  readonly fact: Readonly<Record<string, unknown>>;
  readonly at: string;
}

/** A found event. If there are no events, one row has only the snapshot and the horizon. */
export interface FoundRow extends Omit<EventRow, 'sequence'> {
  readonly snapshot: string;
  /** Events visible in this snapshot were removed. */
  readonly horizon: string | null;
  readonly sequence: number | null;
}

const columns = `e.sequence, e.organization_id, e.project_id, e.environment_id, coalesce(environment.mode, e.mode) as mode, e.service_id,
  e.deployment_id, e.kind, e.fact, e.at`;
const here = `(select pg_current_snapshot()::text as snapshot,
                      (select snapshot from stream_checkpoint where is_horizon) as horizon) here`;
const found = `select here.snapshot, here.horizon, ${columns} from ${here}`;

/**
 * Returns the condition for events that a snapshot does not see: transactions at or above `xmax`, and those in
 * progress.
 */
const behind = (xmax: string, underway: string): string => `(e.xid >= ${xmax} or e.xid = any (${underway}::bigint[]))`;

/**
 * Returns all events after a snapshot. $1, $2: xmax and underway of the snapshot; $3: most events to return. The events
 * and the returned snapshot are from the same moment. Transaction ids above the current ones of this server come from a
 * restored database and are ignored.
 */
export const eventsBehind = statement<FoundRow>(
  'stream_events_behind',
  `${found} left join lateral (
     select * from stream_event e
      where ${behind('$1', '$2')} and e.xid < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
      order by e.sequence limit $3) e on true
   left join environment on environment.id = e.environment_id
   order by e.sequence`,
);

/**
 * Returns events between two snapshots, from a number on:
 * - $1, $2: the earlier snapshot; $3, $4: the later snapshot; $5: the number.
 * - $6: organization.
 * - Filters: $7 kinds. The others may be null: $8 project, $9 environments, $10 services, $11 deployment.
 * - $12: most events to return.
 */
export const eventsBetween = statement<FoundRow>(
  'stream_events_between',
  `${found} left join lateral (
     select * from stream_event e
      where ${behind('$1', '$2')} and e.xid < $3 and e.xid <> all ($4::bigint[]) and e.sequence >= $5
        and e.organization_id = $6 and e.kind = any ($7::text[])
        and ($8::uuid is null or e.project_id = $8)
        and ($9::uuid[] is null or e.environment_id = any ($9))
        and ($10::uuid[] is null or e.service_id = any ($10) or e.kind = 'DEPLOYMENT_LOG')
        and ($11::uuid is null or e.deployment_id = $11)
      order by e.sequence limit $12) e on true
   left join environment on environment.id = e.environment_id
   order by e.sequence`,
);

/** Returns the lines of a log that a snapshot ($1, $2) does not see. $3: kind; $4: service, or $5: deployment. */
export const linesBehind = statement<{ line: number }>(
  'stream_lines_behind',
  `select (line.value #>> '{}')::bigint as line from stream_event e, jsonb_array_elements(e.fact -> 'lines') as line
    where ${behind('$1', '$2')} and e.kind = $3 and (e.service_id = $4 or e.deployment_id = $5)`,
);

export const horizonRead = statement<{ snapshot: string }>(
  'stream_horizon_read',
  'select snapshot from stream_checkpoint where is_horizon',
);

/** Serializes the removal of old events. */
export const trimLock = statement('stream_trim_lock', `select pg_advisory_xact_lock(hashtextextended('davit stream trim', 0))`);

/** Removes the events of a database that was restored into another server, where transaction ids start again. */
export const foreignRemove = statement(
  'stream_foreign_remove',
  `with foreign_checkpoint as (
     delete from stream_checkpoint
      where pg_snapshot_xmax(snapshot::pg_snapshot)::text::bigint > pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
   delete from stream_event where xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint`,
);

/** $1: seconds. Stores the current snapshot, unless one was stored within these seconds. */
export const checkpointTake = statement(
  'stream_checkpoint_take',
  `insert into stream_checkpoint (snapshot, last_sequence)
   select pg_current_snapshot()::text, coalesce((select max(sequence) from stream_event), 0)
    where not exists (select 1 from stream_checkpoint where taken_at > clock_timestamp() - make_interval(secs => $1))`,
);

/**
 * $1: seconds, $2: number of events. Makes the newest checkpoint that is older than these limits the horizon. Returns
 * no row if it already is the horizon.
 */
export const horizonMove = statement<{ id: number; snapshot: string }>(
  'stream_horizon_move',
  `with next as (
     select id, snapshot from stream_checkpoint
      where taken_at < clock_timestamp() - make_interval(secs => $1)
         or last_sequence < (select coalesce(max(sequence), 0) from stream_event) - $2
      order by id desc limit 1
   ), former as (delete from stream_checkpoint using next where stream_checkpoint.id < next.id)
   update stream_checkpoint set is_horizon = true from next
    where stream_checkpoint.id = next.id and not stream_checkpoint.is_horizon returning next.id, next.snapshot`,
);

/** Parameters: xmax and underway of the horizon. */
export const eventsRemove = statement(
  'stream_events_remove',
  'delete from stream_event where xid < $1 and xid <> all ($2::bigint[])',
);

export const readOrganizationId = statement<{ id: string }>('stream_organization', 'select id from organization where id = $1');

export const environmentFacts = statement<{ project_id: string }>(
  'stream_environment',
  'select project_id from environment where id = $1',
);

export const readServiceIds = statement<{ organization_id: string; project_id: string; environment_id: string }>(
  'stream_service',
  'select organization_id, project_id, environment_id from service where id = $1',
);
