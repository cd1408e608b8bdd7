import { statement } from '@davit/db';
import type { FailureRecord } from '../model.ts';
import type { ConditionKind, ConditionSeverity } from '../port/views.ts';

export interface ConditionRow {
  readonly kind: ConditionKind;
  readonly severity: ConditionSeverity;
  readonly failure: FailureRecord;
  readonly instance_name: string | null;
  readonly occurrences: number;
  readonly since: string;
  readonly seen_at: string;
}

/**
 * Returns SQL for the conditions of a service as JSON, worst and oldest first; null if there are none. `service` is the
 * column with the service id.
 */
export const conditionsOf = (service: string): string =>
  `(select jsonb_agg(jsonb_build_object('kind', c.kind, 'severity', c.severity, 'failure', c.failure, 'instance_name', c.instance_name,
             'occurrences', c.occurrences, 'since', c.since, 'seen_at', c.seen_at) order by c.severity, c.since)
      from service_condition c where c.service_id = ${service})`;

/** Returns the conditions of services, worst and oldest first. Parameter: ids of services. Few services have any. */
export const conditionsOfServices = statement<ConditionRow & { service_id: string }>(
  'conditions_of_services',
  `select service_id, kind, severity, failure, instance_name, occurrences, since, seen_at from service_condition
    where service_id = any ($1::uuid[]) order by service_id, severity, since`,
);

/**
 * SQL for the minimum seconds between two updates of an unchanged condition. A continuing state is observed every few
 * seconds but is stored less often. The interval is shorter if the condition would otherwise lapse in between.
 */
const touchSeconds = `least(15, nullif(excluded.clear_after_seconds, 0) / 3.0)`;

/**
 * Opens or updates a condition.
 *
 * $1 service, $2 rollout, $3 kind, $4 severity, $5 failure, $6 instance, $7 time, $8 occurrences to add, $9
 * clear_after_seconds, $10 log line.
 *
 * - If the rollout no longer runs, nothing is stored.
 * - If the condition is open and its code, severity and occurrences stay the same, only its message and `seen_at` are
 *   stored, at most once in `touchSeconds`.
 *
 * Returns the row after the change, or no row if nothing changed.
 */
export const raiseCondition = statement<{ since: string; occurrences: number }>(
  'raise_condition',
  `with place as (
     select service_id, release_id from service_runtime where service_id = $1::uuid and rollout = $2::uuid and desired = 'RUNNING' for share
   ), raised as (
     insert into service_condition as c (service_id, kind, severity, failure, instance_name, occurrences, clear_after_seconds, since, seen_at)
     select service_id, $3, $4, $5::jsonb, $6, greatest($8::bigint, 1), $9::integer, $7::timestamptz, $7::timestamptz from place
     on conflict (service_id, kind) do update set severity = excluded.severity, failure = excluded.failure, instance_name = excluded.instance_name,
       occurrences = c.occurrences + $8::bigint, clear_after_seconds = excluded.clear_after_seconds,
       seen_at = greatest(c.seen_at, excluded.seen_at)
     where $8::bigint > 0 or c.severity <> excluded.severity or c.failure ->> 'code' <> excluded.failure ->> 'code'
        or c.seen_at < excluded.seen_at - make_interval(secs => ${touchSeconds})
     returning c.since, c.occurrences
   ), changed as (
     select raised.* from raised
      where $8::bigint > 0 or not exists (
        select from service_condition f where f.service_id = $1::uuid and f.kind = $3 and f.severity = $4 and f.failure ->> 'code' = $5::jsonb ->> 'code')
   ), line as (
     insert into service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
     select p.service_id, p.release_id, 'davit', 'davit', 'stderr', $10, clock_timestamp()::text, clock_timestamp() from place p, changed)
   select since, occurrences from changed`,
);

/** Removes a condition. $1 service, $2 kind, $3 log line. */
export const clearCondition = statement(
  'clear_condition',
  `with cleared as (delete from service_condition where service_id = $1::uuid and kind = $2 returning service_id)
   insert into service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
   select t.service_id, t.release_id, 'davit', 'davit', 'stdout', $3, clock_timestamp()::text, clock_timestamp()
     from cleared join service_runtime t on t.service_id = cleared.service_id`,
);

/**
 * Removes a condition like `clearCondition`, unless the condition reports an event. Conditions of events are cleared by
 * the keeper when they lapse.
 */
export const clearStateCondition = statement(
  'clear_state_condition',
  `with cleared as (
     delete from service_condition where service_id = $1::uuid and kind = $2 and clear_after_seconds is null returning service_id)
   insert into service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
   select t.service_id, t.release_id, 'davit', 'davit', 'stdout', $3, clock_timestamp()::text, clock_timestamp()
     from cleared join service_runtime t on t.service_id = cleared.service_id`,
);

const lapsed = `clear_after_seconds is not null and seen_at < clock_timestamp() - make_interval(secs => clear_after_seconds)`;

/**
 * Removes the conditions of a service ($1) that were last observed longer ago than their `clear_after_seconds`. Returns
 * the worst severity of the remaining conditions; null if none remains.
 */
export const clearLapsedConditions = statement<{ worst: ConditionSeverity | null }>(
  'clear_lapsed_conditions',
  `with cleared as (
     delete from service_condition where service_id = $1::uuid and ${lapsed}
     returning service_id, kind, failure ->> 'code' as code, seen_at
   ), line as (
     insert into service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
     select t.service_id, t.release_id, 'davit', 'davit', 'stdout',
            'Davit: ' || cleared.code || ' is over: the service runs as it should, and it was last observed at '
              || to_char(cleared.seen_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || '.',
            clock_timestamp()::text, clock_timestamp()
       from cleared join service_runtime t on t.service_id = cleared.service_id)
   select min(severity) as worst from service_condition where service_id = $1::uuid and kind not in (select kind from cleared)`,
);
