import { statement } from '@davit/db';
import type { FailureRecord } from '../model.ts';

/** Returns SQL that inserts the lines of a JSON array into the log of the deployment `$1`, if a condition holds. */
export function insertLines(lines: string, condition: string): string {
  return `insert into deployment_log (deployment_id, service_id, step, level, message, error, at)
   select $1, l.service_id, l.step, l.level, l.message, l.error, l.at
     from jsonb_to_recordset(${lines}::jsonb) as l(service_id uuid, step text, level text, message text, error jsonb, at timestamptz)
    where ${condition}`;
}

export const insertDeploymentLog = statement(
  'insert_deployment_log',
  insertLines('$2', 'exists (select 1 from deployment where id = $1)'),
);

export interface DeploymentLogRow {
  readonly id: number;
  readonly at: string;
  readonly level: 'INFO' | 'WARNING' | 'ERROR';
  readonly step: string;
  readonly message: string;
  readonly error: FailureRecord | null;
  readonly service_id: string | null;
  readonly service_name: string | null;
  readonly service_type: string | null;
  readonly stage_id: string | null;
  readonly stage_name: string | null;
}

/** Returns at most the newest 10,000 lines, because clients must be able to hold the response. */
export const readDeploymentLog = statement<DeploymentLogRow>(
  'read_deployment_log',
  `select * from (
     select l.id, l.at, l.level, l.step, l.message, l.error, l.service_id, s.service_name, s.service_type, s.stage_id, s.stage_name
       from deployment_log l left join deployment_service s on s.deployment_id = l.deployment_id and s.service_id = l.service_id
      where l.deployment_id = $1 order by l.id desc limit 10000) newest order by id`,
);

const deploymentLines = `select l.id, l.at, l.level, l.step, l.message, l.error, l.service_id, s.service_name, s.service_type, s.stage_id, s.stage_name
    from deployment_log l left join deployment_service s on s.deployment_id = l.deployment_id and s.service_id = l.service_id
   where l.deployment_id = $1`;

export const deploymentLinesByIds = statement<DeploymentLogRow>(
  'deployment_lines_by_ids',
  `${deploymentLines} and l.id = any ($2::bigint[]) order by l.id`,
);

export const deploymentLinesAfter = statement<DeploymentLogRow>(
  'deployment_lines_after',
  `${deploymentLines} and l.id > $2 order by l.id limit $3`,
);

export const findExecution = statement<{ id: string; execution_number: number }>(
  'find_execution',
  `select id, execution_number from deployment
    where environment_id = $1 and execution_number is not null and ($2::integer is null or execution_number = $2)
    order by execution_number desc limit 1`,
);

/**
 * Stores log lines together with the position reached in each origin, so that no line is stored twice after a crash.
 * Ids follow from the numbers, see `lineId`.
 */
export const insertServiceLog = statement(
  'insert_service_log',
  `with line as (
     select * from rows from (jsonb_to_recordset($5::jsonb) as (stream text, message text, source_at text, origin text))
       with ordinality as l(stream, message, source_at, origin, number)
   ), noted as (
     insert into log_origin (instance_id, origin, service_id, release_id, source_at)
     select distinct on (origin) $3, origin, $1::uuid, $2::uuid, source_at from line where origin is not null order by origin, number desc
     on conflict (instance_id, origin) do update set source_at = excluded.source_at, followed_at = excluded.followed_at)
   insert into service_log (id, entry_id, service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
   overriding system value
   select id, (left($1::uuid::text, 13) || '-8000-8000-' || lpad(to_hex(id), 12, '0'))::uuid, $1::uuid, $2::uuid, $3, $4, stream, message,
          source_at, source_at::timestamptz
     from (select nextval('service_log_id_seq') as id, line.* from line order by number) numbered`,
);

export interface ServiceLogRow {
  readonly number: number;
  readonly id: string;
  readonly at: string;
  readonly message: string;
  readonly instance: string;
  readonly release_id: string | null;
}

const serviceLine = 'id AS number, entry_id AS id, at, message, instance_name AS instance, release_id';

export const serviceLinesByIds = statement<ServiceLogRow>(
  'service_lines_by_ids',
  `select ${serviceLine} from service_log where service_id = $1 and id = any ($2::bigint[]) order by service_log.id`,
);

export const serviceLinesAfter = statement<ServiceLogRow>(
  'service_lines_after',
  `select ${serviceLine} from service_log where service_id = $1 and service_log.id > $2 order by service_log.id limit $3`,
);

/** Returns the number of the line before the newest $2 lines. Lines whose ids are in $3 are not counted. */
export const serviceLinesStart = statement<{ number: number }>(
  'service_lines_start',
  `select coalesce(min(newest.id) - 1, (select coalesce(max(id), 0) from service_log where service_id = $1)) as number from (
     select id from service_log where service_id = $1 and id <> all ($3::bigint[]) order by id desc limit $2) newest`,
);

export const readServiceLog = statement<ServiceLogRow>(
  'read_service_log',
  `select newest.id as number, entry_id as id, at, message, instance_name as instance, release_id from (
     select * from service_log where service_id = $1 order by id desc limit $2) newest order by newest.id`,
);

// Only a few pods of one instance print at the same time.
const rememberedOrigins = 20;

/**
 * Returns the position at which to resume the log of an instance, for each origin, and marks the instance as followed.
 * Parameter: instance.
 *
 * - `at` is a position for all origins. It is set if the last stored line has no recorded origin: the engine has no
 *   origins, or an older program that records none has followed the instance.
 * - Only the newest origins are kept, because an instance that lives long gets more and more of them. If the list is
 *   full, `at` is the oldest of the kept positions and stands for all dropped origins.
 * - Both columns are null if the instance has no known position.
 */
export const logPosition = statement<{ at: string | null; origins: Readonly<Record<string, string>> | null }>(
  'log_position',
  `with without_lines as (
     update log_position set followed_at = clock_timestamp() where instance_id = $1 returning source_at
   ), known as (
     update log_origin set followed_at = clock_timestamp() where instance_id = $1
        and origin in (select origin from log_origin where instance_id = $1 order by source_at desc limit ${rememberedOrigins})
     returning origin, source_at
   ), last as (
     select coalesce((select source_at from service_log where instance_id = $1 order by id desc limit 1),
                     (select source_at from without_lines)) as source_at)
   select case when not exists (select from known where known.source_at = last.source_at) then last.source_at
               when (select count(*) from known) = ${rememberedOrigins} then (select min(known.source_at) from known) end as at,
          (select jsonb_object_agg(origin, source_at) from known) as origins
     from last`,
);

/** Parameters: instance, limit. Newest first. */
export const lastLogLines = statement<{ message: string }>(
  'last_log_lines',
  `select message from service_log where instance_id = $1 order by id desc limit $2`,
);

/**
 * Returns SQL that stores the position of each instance whose last line is in `gone`. Two kinds of lines get no
 * position: those of job runs, which are too frequent and too short to be silent for that long, and those that Davit
 * itself wrote.
 */
const keepPositions = `insert into log_position (instance_id, service_id, source_at)
   select last.instance_id, last.service_id, last.source_at
     from (select distinct on (instance_id) * from gone where instance_id <> 'davit' order by instance_id, id desc) last
     left join release r on r.id = last.release_id
    where r.config -> 'job' is null
      and not exists (select from service_log l where l.instance_id = last.instance_id and l.id > last.id)
   on conflict (instance_id) do update set source_at = excluded.source_at, followed_at = excluded.followed_at`;

/** Deletes log lines that are older than $1 days. Positions of instances are kept. */
export const trimServiceLogs = statement(
  'trim_service_logs',
  `with gone as (
     delete from service_log where at < clock_timestamp() - make_interval(days => $1)
     returning id, service_id, release_id, instance_id, source_at)
   ${keepPositions}`,
);

/** Deletes segments whose lines are all older than $1 days, and the oldest of services that have more than $2 bytes. */
export const trimSegments = statement(
  'trim_segments',
  `delete from log_segment where to_at < clock_timestamp() - make_interval(days => $1)
      or (service_id, last_number) in (
        select service_id, last_number from (
          select service_id, last_number, sum(stored_bytes) over (partition by service_id order by last_number desc) as bytes
            from log_segment) counted where bytes > $2)`,
);

/** Returns the services with more than $1 lines that are not in segments. */
export const servicesWithLines = statement<{ service_id: string }>(
  'services_with_lines',
  `select service_id from service_log group by service_id having count(*) > $1`,
);

const milliseconds = `(date_part('epoch', at) * 1000000)::bigint / 1000`;
const lineRow = `json_build_array(id, entry_id, ${milliseconds}, message, instance_name, release_id, stream)`;

/**
 * Returns the oldest lines of a service, without its newest $2, as JSON of `LineRow`s, in order: at most $3, and those
 * that begin within the first $4 bytes.
 */
export const oldestLines = statement<{ rows: string; lines: number }>(
  'oldest_lines',
  `with newest as (select id from service_log where service_id = $1 order by id desc offset $2 limit 1),
   old as (select l.* from service_log l, newest where l.service_id = $1 and l.id <= newest.id order by l.id limit $3),
   counted as (select old.*, sum(octet_length(message) + 1) over (order by id) - octet_length(message) - 1 as begin from old)
   select coalesce(json_agg(${lineRow} order by id), '[]')::text as rows, count(*)::integer as lines from counted where begin < $4`,
);

/**
 * Moves the lines of a service with the numbers $2 to $3 into a segment. Returns how many lines are no longer in
 * service_log. The caller must roll back if these are not the lines that the segment contains.
 */
export const moveLines = statement<{ lines: number }>(
  'move_lines',
  `with gone as (
     delete from service_log where service_id = $1::uuid and id between $2::bigint and $3::bigint
     returning id, service_id, release_id, instance_id, source_at
   ), positions as (
     ${keepPositions}
   ), segment as (
     insert into log_segment (service_id, first_number, last_number, from_at, to_at, lines, instances, releases, frames, stored_bytes, gram_bytes,
                              messages, details, grams)
     values ($1::uuid, $2::bigint, $3::bigint, to_timestamp($4::float8 / 1000), to_timestamp($5::float8 / 1000), $6::integer, $7::text[],
             $8::uuid[], $9::jsonb, octet_length($11::bytea) + octet_length($12::bytea) + octet_length($13::bytea), $10::smallint,
             $11::bytea, $12::bytea, $13::bytea)
     on conflict do nothing)
   select count(*)::integer as lines from gone`,
);

/**
 * Returns SQL for the next $4 lines of a service that are not in segments, with numbers between $2 and $3: as JSON of
 * `LineRow`s those that are like all patterns of $5, in order, and the first and last number of all of them. Only ASCII
 * letters are the same in both cases.
 */
function rows(order: string): string {
  return `select coalesce(json_agg(${lineRow} order by id) filter (where message collate "C" ilike all ($5::text[])), '[]')::text as rows,
          min(id) as first, max(id) as last
     from (select * from service_log where service_id = $1 and id > $2 and id < $3 order by id ${order} limit $4) next`;
}

export interface RowsRow {
  readonly rows: string;
  readonly first: number | null;
  readonly last: number | null;
}

export const rowsBefore = statement<RowsRow>('log_rows_before', rows('desc'));
export const rowsAfter = statement<RowsRow>('log_rows_after', rows('asc'));

/** Lines, bytes of messages, bytes of details, first and last number, first and last time (ms) of a frame. */
export type FrameHead = readonly [
  lines: number,
  messageBytes: number,
  detailBytes: number,
  firstNumber: number,
  lastNumber: number,
  from: number,
  to: number,
];

export interface SegmentRow {
  readonly first_number: number;
  readonly last_number: number;
  readonly from_at: string;
  readonly to_at: string;
  readonly frames: readonly FrameHead[];
  readonly mask: number;
  readonly messages: string;
  readonly details: string;
}

/**
 * Returns SQL for the next segments of a service that may have a wanted line. $1 service; $2 and $3 numbers between
 * which lines are; $4 and $5 their times (ms); $6 instance; $7 release; $8 entries of the filter; $9 limit. `mask` has
 * a bit for each frame that has all of the entries.
 */
function segments(order: string): string {
  return `select s.first_number, s.last_number, s.from_at, s.to_at, s.frames, s.mask,
          encode(s.messages, 'base64') as messages, encode(s.details, 'base64') as details
     from (
       select g.*, coalesce((
                select bit_and(get_byte(part.bytes, 0) | case when g.gram_bytes = 2 then get_byte(part.bytes, 1) << 8 else 0 end)
                  from unnest($8::integer[]) as entry,
                       lateral (select substring(g.grams from entry * g.gram_bytes + 1 for g.gram_bytes) as bytes) part), 65535) as mask
         from log_segment g
        where g.service_id = $1 and g.last_number > $2 and g.first_number < $3
          and g.to_at >= to_timestamp($4::float8 / 1000) and g.from_at < to_timestamp($5::float8 / 1000)
          and ($6::text is null or $6 = any (g.instances)) and ($7::uuid is null or $7 = any (g.releases))
        order by g.last_number ${order}) s
    where s.mask <> 0
    limit $9`;
}

export const segmentsBefore = statement<SegmentRow>('log_segments_before', segments('desc'));
export const segmentsAfter = statement<SegmentRow>('log_segments_after', segments('asc'));

/** Deletes the positions of instances that nobody has followed for $1 days. */
export const forgetLogPositions = statement(
  'forget_log_positions',
  `delete from log_position where followed_at < clock_timestamp() - make_interval(days => $1)`,
);

/**
 * Deletes the origins of instances that nobody has followed for $1 days, and for $2 days if the instance was a job run.
 * Job runs are frequent and short.
 */
export const forgetLogOrigins = statement(
  'forget_log_origins',
  `delete from log_origin o where followed_at < clock_timestamp() - make_interval(days => $1)
      or (followed_at < clock_timestamp() - make_interval(days => $2)
          and exists (select from release r where r.id = o.release_id and r.config -> 'job' is not null))`,
);

export const trimDeploymentLogs = statement(
  'trim_deployment_logs',
  `delete from deployment_log where at < clock_timestamp() - make_interval(days => $1)`,
);
