import { statement } from '@davit/db';

/**
 * Records an exit of an instance and counts it in the metrics.
 *
 * $1 instance, $2 time, $3 service, $4 rollout, $5 cause, $6 exit code, $7 restarts by the cluster until then.
 *
 * Returns no row if the exit is already recorded or the rollout no longer runs. If the cluster restarted an instance
 * several times between two looks, these exits are counted with the next exit that is seen: the growth of the restart
 * count is their number.
 */
export const noteInstanceEnd = statement<{ ends: number }>(
  'noteInstanceEnd',
  `WITH former AS (
     SELECT restarts FROM service_instance_end WHERE instance_id = $1 AND ended_at < $2::timestamptz ORDER BY ended_at DESC LIMIT 1
   ), noted AS (
     INSERT INTO service_instance_end (instance_id, ended_at, service_id, cause, exit_code, restarts, ends)
     SELECT $1, $2::timestamptz, t.service_id, $5, $6::integer, $7::integer, greatest(1, $7::integer - coalesce((SELECT restarts FROM former), $7::integer))
       FROM service_runtime t WHERE t.service_id = $3::uuid AND t.rollout = $4::uuid AND t.desired = 'RUNNING'
     ON CONFLICT DO NOTHING RETURNING service_id, cause, ends
   ), counted AS (
     INSERT INTO service_end_total AS e (service_id, cause, ends) SELECT service_id, cause, ends FROM noted
     ON CONFLICT (service_id, cause) DO UPDATE SET ends = e.ends + excluded.ends)
   SELECT ends FROM noted`,
);

export interface EndRow {
  readonly instance_id: string;
  readonly ended_at: string;
  readonly ends: number;
}

/** Returns the exits of a service within the last hour, newest first. Parameter: service. */
export const recentEnds = statement<EndRow>(
  'recentEnds',
  `SELECT instance_id, ended_at, ends FROM service_instance_end
    WHERE service_id = $1 AND ended_at > clock_timestamp() - interval '1 hour' ORDER BY ended_at DESC LIMIT 1000`,
);

/** Returns a row if the liveness probe of a service has failed since a time. Parameters: service, time. */
export const livenessFailure = statement<{ instance_name: string | null }>(
  'livenessFailure',
  `SELECT instance_name FROM service_condition WHERE service_id = $1 AND kind = 'LIVENESS' AND seen_at > $2::timestamptz`,
);

/**
 * Deletes exits older than $1 days. The last exit of each instance is kept, because clusters report it as long as the
 * instance exists. The metrics keep their counts.
 */
export const trimInstanceEnds = statement(
  'trimInstanceEnds',
  `DELETE FROM service_instance_end e WHERE ended_at < clock_timestamp() - make_interval(days => $1)
      AND EXISTS (SELECT FROM service_instance_end n WHERE n.instance_id = e.instance_id AND n.ended_at > e.ended_at)`,
);

/** Returns the last lines that an instance had printed by a time, oldest first. Parameters: instance, time, limit. */
export const linesUntil = statement<{ message: string }>(
  'linesUntil',
  `SELECT message FROM (
     SELECT id, message FROM service_log WHERE instance_id = $1 AND at <= $2::timestamptz + interval '100 milliseconds' ORDER BY id DESC LIMIT $3) newest
    ORDER BY id`,
);
