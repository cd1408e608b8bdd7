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

/** At most the newest 10,000 lines: an answer must stay of a size that clients can hold. */
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

export const insertServiceLog = statement(
  'insertServiceLog',
  `INSERT INTO service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
   SELECT $1, $2, $3, $4, l.stream, l.message, l.source_at, l.source_at::timestamptz
     FROM jsonb_to_recordset($5::jsonb) AS l(stream text, message text, source_at text)`,
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

/** The number before the newest $2 lines, those of $3 not counted. */
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

export const lastLogTime = statement<{ source_at: string }>(
  'lastLogTime',
  `SELECT source_at FROM service_log WHERE instance_id = $1 ORDER BY id DESC LIMIT 1`,
);

/** Instance, number. Newest first. */
export const lastLogLines = statement<{ message: string }>(
  'lastLogLines',
  `SELECT message FROM service_log WHERE instance_id = $1 ORDER BY id DESC LIMIT $2`,
);

/** Keeps the newest lines of each service within a number of lines and days. */
export const trimServiceLogs = statement(
  'trimServiceLogs',
  `DELETE FROM service_log l USING (
     SELECT id FROM (SELECT id, at, row_number() OVER (PARTITION BY service_id ORDER BY id DESC) AS age FROM service_log) numbered
      WHERE age > $1 OR at < clock_timestamp() - make_interval(days => $2)) old
    WHERE l.id = old.id`,
);

export const trimDeploymentLogs = statement(
  'trimDeploymentLogs',
  `DELETE FROM deployment_log WHERE at < clock_timestamp() - make_interval(days => $1)`,
);
