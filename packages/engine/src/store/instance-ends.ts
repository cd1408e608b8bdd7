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
  'note_instance_end',
  `with former as (
     select restarts from service_instance_end where instance_id = $1 and ended_at < $2::timestamptz order by ended_at desc limit 1
   ), noted as (
     insert into service_instance_end (instance_id, ended_at, service_id, cause, exit_code, restarts, ends)
     select $1, $2::timestamptz, t.service_id, $5, $6::integer, $7::integer, greatest(1, $7::integer - coalesce((select restarts from former), $7::integer))
       from service_runtime t where t.service_id = $3::uuid and t.rollout = $4::uuid and t.desired = 'RUNNING'
     on conflict do nothing returning service_id, cause, ends
   ), counted as (
     insert into service_end_total as e (service_id, cause, ends) select service_id, cause, ends from noted
     on conflict (service_id, cause) do update set ends = e.ends + excluded.ends)
   select ends from noted`,
);

export interface EndRow {
  readonly instance_id: string;
  readonly ended_at: string;
  readonly ends: number;
}

/** Returns the exits of a service within the last hour, newest first. Parameter: service. */
export const recentEnds = statement<EndRow>(
  'recent_ends',
  `select instance_id, ended_at, ends from service_instance_end
    where service_id = $1 and ended_at > clock_timestamp() - interval '1 hour' order by ended_at desc limit 1000`,
);

/** Returns a row if the liveness probe of a service has failed since a time. Parameters: service, time. */
export const livenessFailure = statement<{ instance_name: string | null }>(
  'liveness_failure',
  `select instance_name from service_condition where service_id = $1 and kind = 'LIVENESS' and seen_at > $2::timestamptz`,
);

/**
 * Deletes exits older than $1 days. The last exit of each instance is kept, because clusters report it as long as the
 * instance exists. The metrics keep their counts.
 */
export const trimInstanceEnds = statement(
  'trim_instance_ends',
  `delete from service_instance_end e where ended_at < clock_timestamp() - make_interval(days => $1)
      and exists (select from service_instance_end n where n.instance_id = e.instance_id and n.ended_at > e.ended_at)`,
);

/** Returns the last lines that an instance had printed by a time, oldest first. Parameters: instance, time, limit. */
export const linesUntil = statement<{ message: string }>(
  'lines_until',
  `select message from (
     select id, message from service_log where instance_id = $1 and at <= $2::timestamptz + interval '100 milliseconds' order by id desc limit $3) newest
    order by id`,
);
