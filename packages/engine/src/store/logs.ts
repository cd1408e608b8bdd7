import { statement } from '@davit/db';
import type { FailureRecord } from '../model.ts';

export const insertDeploymentLog = statement(
  'insertDeploymentLog',
  `INSERT INTO deployment_log (deployment_id, service_id, step, level, message, error, at)
   SELECT $1, l.service_id, l.step, l.level, l.message, l.error, l.at
     FROM jsonb_to_recordset($2::jsonb) AS l(service_id uuid, step text, level text, message text, error jsonb, at timestamptz)
    WHERE EXISTS (SELECT 1 FROM deployment WHERE id = $1)`,
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
  'readDeploymentLog',
  `SELECT * FROM (
     SELECT l.id, l.at, l.level, l.step, l.message, l.error, l.service_id, s.service_name, s.service_type, s.stage_id, s.stage_name
       FROM deployment_log l LEFT JOIN deployment_service s ON s.deployment_id = l.deployment_id AND s.service_id = l.service_id
      WHERE l.deployment_id = $1 ORDER BY l.id DESC LIMIT 10000) newest ORDER BY id`,
);

const deploymentLines = `SELECT l.id, l.at, l.level, l.step, l.message, l.error, l.service_id, s.service_name, s.service_type, s.stage_id, s.stage_name
    FROM deployment_log l LEFT JOIN deployment_service s ON s.deployment_id = l.deployment_id AND s.service_id = l.service_id
   WHERE l.deployment_id = $1`;

export const deploymentLinesByIds = statement<DeploymentLogRow>(
  'deploymentLinesByIds',
  `${deploymentLines} AND l.id = ANY ($2::bigint[]) ORDER BY l.id`,
);

export const deploymentLinesAfter = statement<DeploymentLogRow>(
  'deploymentLinesAfter',
  `${deploymentLines} AND l.id > $2 ORDER BY l.id LIMIT $3`,
);

export const findExecution = statement<{ id: string; execution_number: number }>(
  'findExecution',
  `SELECT id, execution_number FROM deployment
    WHERE environment_id = $1 AND execution_number IS NOT NULL AND ($2::integer IS NULL OR execution_number = $2)
    ORDER BY execution_number DESC LIMIT 1`,
);

/**
 * Stores log lines together with the position reached in each origin, so that no line is stored twice after a crash.
 */
export const insertServiceLog = statement(
  'insertServiceLog',
  `WITH line AS (
     SELECT * FROM ROWS FROM (jsonb_to_recordset($5::jsonb) AS (stream text, message text, source_at text, origin text))
       WITH ORDINALITY AS l(stream, message, source_at, origin, number)
   ), noted AS (
     INSERT INTO log_origin (instance_id, origin, service_id, release_id, source_at)
     SELECT DISTINCT ON (origin) $3, origin, $1::uuid, $2::uuid, source_at FROM line WHERE origin IS NOT NULL ORDER BY origin, number DESC
     ON CONFLICT (instance_id, origin) DO UPDATE SET source_at = excluded.source_at, followed_at = excluded.followed_at)
   INSERT INTO service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
   SELECT $1::uuid, $2::uuid, $3, $4, stream, message, source_at, source_at::timestamptz FROM line ORDER BY number`,
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
  'serviceLinesByIds',
  `SELECT ${serviceLine} FROM service_log WHERE service_id = $1 AND id = ANY ($2::bigint[]) ORDER BY service_log.id`,
);

export const serviceLinesAfter = statement<ServiceLogRow>(
  'serviceLinesAfter',
  `SELECT ${serviceLine} FROM service_log WHERE service_id = $1 AND service_log.id > $2 ORDER BY service_log.id LIMIT $3`,
);

/** Returns the number of the line before the newest $2 lines. Lines whose ids are in $3 are not counted. */
export const serviceLinesStart = statement<{ number: number }>(
  'serviceLinesStart',
  `SELECT coalesce(min(newest.id) - 1, (SELECT coalesce(max(id), 0) FROM service_log WHERE service_id = $1)) AS number FROM (
     SELECT id FROM service_log WHERE service_id = $1 AND id <> ALL ($3::bigint[]) ORDER BY id DESC LIMIT $2) newest`,
);

export const readServiceLog = statement<ServiceLogRow>(
  'readServiceLog',
  `SELECT newest.id AS number, entry_id AS id, at, message, instance_name AS instance, release_id FROM (
     SELECT * FROM service_log WHERE service_id = $1 ORDER BY id DESC LIMIT $2) newest ORDER BY newest.id`,
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
  'logPosition',
  `WITH without_lines AS (
     UPDATE log_position SET followed_at = clock_timestamp() WHERE instance_id = $1 RETURNING source_at
   ), known AS (
     UPDATE log_origin SET followed_at = clock_timestamp() WHERE instance_id = $1
        AND origin IN (SELECT origin FROM log_origin WHERE instance_id = $1 ORDER BY source_at DESC LIMIT ${rememberedOrigins})
     RETURNING origin, source_at
   ), last AS (
     SELECT coalesce((SELECT source_at FROM service_log WHERE instance_id = $1 ORDER BY id DESC LIMIT 1),
                     (SELECT source_at FROM without_lines)) AS source_at)
   SELECT CASE WHEN NOT EXISTS (SELECT FROM known WHERE known.source_at = last.source_at) THEN last.source_at
               WHEN (SELECT count(*) FROM known) = ${rememberedOrigins} THEN (SELECT min(known.source_at) FROM known) END AS at,
          (SELECT jsonb_object_agg(origin, source_at) FROM known) AS origins
     FROM last`,
);

/** Parameters: instance, limit. Newest first. */
export const lastLogLines = statement<{ message: string }>(
  'lastLogLines',
  `SELECT message FROM service_log WHERE instance_id = $1 ORDER BY id DESC LIMIT $2`,
);

/**
 * Deletes old log lines of each service. Parameters: maximum number of lines, maximum age in days. When the last line
 * of an instance is deleted, its position is stored in `log_position`. Two kinds of lines get no position: those of job
 * runs, which are too frequent and too short to be silent for that long, and those that Davit itself wrote.
 */
export const trimServiceLogs = statement(
  'trimServiceLogs',
  `WITH gone AS (
     DELETE FROM service_log l USING (
       SELECT id FROM (SELECT id, at, row_number() OVER (PARTITION BY service_id ORDER BY id DESC) AS age FROM service_log) numbered
        WHERE age > $1 OR at < clock_timestamp() - make_interval(days => $2)) old
      WHERE l.id = old.id RETURNING l.id, l.service_id, l.release_id, l.instance_id, l.source_at
   ), last AS (
     SELECT DISTINCT ON (instance_id) * FROM gone WHERE instance_id <> 'davit' ORDER BY instance_id, id DESC)
   INSERT INTO log_position (instance_id, service_id, source_at)
   SELECT last.instance_id, last.service_id, last.source_at FROM last LEFT JOIN release r ON r.id = last.release_id
    WHERE r.config -> 'job' IS NULL
      AND NOT EXISTS (SELECT FROM service_log l WHERE l.instance_id = last.instance_id AND l.id > last.id)
   ON CONFLICT (instance_id) DO UPDATE SET source_at = excluded.source_at, followed_at = excluded.followed_at`,
);

/** Deletes the positions of instances that nobody has followed for $1 days. */
export const forgetLogPositions = statement(
  'forgetLogPositions',
  `DELETE FROM log_position WHERE followed_at < clock_timestamp() - make_interval(days => $1)`,
);

/**
 * Deletes the origins of instances that nobody has followed for $1 days, and for $2 days if the instance was a job run.
 * Job runs are frequent and short.
 */
export const forgetLogOrigins = statement(
  'forgetLogOrigins',
  `DELETE FROM log_origin o WHERE followed_at < clock_timestamp() - make_interval(days => $1)
      OR (followed_at < clock_timestamp() - make_interval(days => $2)
          AND EXISTS (SELECT FROM release r WHERE r.id = o.release_id AND r.config -> 'job' IS NOT NULL))`,
);

export const trimDeploymentLogs = statement(
  'trimDeploymentLogs',
  `DELETE FROM deployment_log WHERE at < clock_timestamp() - make_interval(days => $1)`,
);
