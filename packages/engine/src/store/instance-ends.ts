import { statement } from '@davit/db';

/**
 * $1 instance, $2 time, $3 service, $4 rollout, $5 cause, $6 exit code, $7 restarts by the cluster until then. Notes an end and counts it in the
 * metrics; an end that is noted already, or of a rollout that does not run any more, answers no row. Ends that the cluster has made good
 * between two looks are counted with the next one that is seen: by how much its count of restarts grew.
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

/** Service: its ends of the last hour, newest first. */
export const recentEnds = statement<EndRow>(
  'recentEnds',
  `SELECT instance_id, ended_at, ends FROM service_instance_end
    WHERE service_id = $1 AND ended_at > clock_timestamp() - interval '1 hour' ORDER BY ended_at DESC LIMIT 1000`,
);

/** Service: whether its liveness probe is known to fail since that time. */
export const livenessFailure = statement<{ instance_name: string | null }>(
  'livenessFailure',
  `SELECT instance_name FROM service_condition WHERE service_id = $1 AND kind = 'LIVENESS' AND seen_at > $2::timestamptz`,
);

/** Days: removes what is older, but for the last end of each instance, which clusters show as long as it runs. Metrics keep their count. */
export const trimInstanceEnds = statement(
  'trimInstanceEnds',
  `DELETE FROM service_instance_end e WHERE ended_at < clock_timestamp() - make_interval(days => $1)
      AND EXISTS (SELECT FROM service_instance_end n WHERE n.instance_id = e.instance_id AND n.ended_at > e.ended_at)`,
);

/** Instance, time, number: the last lines that it had printed by then, oldest first. */
export const linesUntil = statement<{ message: string }>(
  'linesUntil',
  `SELECT message FROM (
     SELECT id, message FROM service_log WHERE instance_id = $1 AND at <= $2::timestamptz + interval '100 milliseconds' ORDER BY id DESC LIMIT $3) newest
    ORDER BY id`,
);
