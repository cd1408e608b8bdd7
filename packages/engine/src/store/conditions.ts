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
  `(SELECT jsonb_agg(jsonb_build_object('kind', c.kind, 'severity', c.severity, 'failure', c.failure, 'instance_name', c.instance_name,
             'occurrences', c.occurrences, 'since', c.since, 'seen_at', c.seen_at) ORDER BY c.severity, c.since)
      FROM service_condition c WHERE c.service_id = ${service})`;

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
  'raiseCondition',
  `WITH place AS (
     SELECT service_id, release_id FROM service_runtime WHERE service_id = $1::uuid AND rollout = $2::uuid AND desired = 'RUNNING' FOR SHARE
   ), raised AS (
     INSERT INTO service_condition AS c (service_id, kind, severity, failure, instance_name, occurrences, clear_after_seconds, since, seen_at)
     SELECT service_id, $3, $4, $5::jsonb, $6, greatest($8::bigint, 1), $9::integer, $7::timestamptz, $7::timestamptz FROM place
     ON CONFLICT (service_id, kind) DO UPDATE SET severity = excluded.severity, failure = excluded.failure, instance_name = excluded.instance_name,
       occurrences = c.occurrences + $8::bigint, clear_after_seconds = excluded.clear_after_seconds,
       seen_at = greatest(c.seen_at, excluded.seen_at)
     WHERE $8::bigint > 0 OR c.severity <> excluded.severity OR c.failure ->> 'code' <> excluded.failure ->> 'code'
        OR c.seen_at < excluded.seen_at - make_interval(secs => ${touchSeconds})
     RETURNING c.since, c.occurrences
   ), changed AS (
     SELECT raised.* FROM raised
      WHERE $8::bigint > 0 OR NOT EXISTS (
        SELECT FROM service_condition f WHERE f.service_id = $1::uuid AND f.kind = $3 AND f.severity = $4 AND f.failure ->> 'code' = $5::jsonb ->> 'code')
   ), line AS (
     INSERT INTO service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
     SELECT p.service_id, p.release_id, 'davit', 'davit', 'stderr', $10, clock_timestamp()::text, clock_timestamp() FROM place p, changed)
   SELECT since, occurrences FROM changed`,
);

/** Removes a condition. $1 service, $2 kind, $3 log line. */
export const clearCondition = statement(
  'clearCondition',
  `WITH cleared AS (DELETE FROM service_condition WHERE service_id = $1::uuid AND kind = $2 RETURNING service_id)
   INSERT INTO service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
   SELECT t.service_id, t.release_id, 'davit', 'davit', 'stdout', $3, clock_timestamp()::text, clock_timestamp()
     FROM cleared JOIN service_runtime t ON t.service_id = cleared.service_id`,
);

/**
 * Removes a condition like `clearCondition`, unless the condition reports an event. Conditions of events are cleared by
 * the keeper when they lapse.
 */
export const clearStateCondition = statement(
  'clearStateCondition',
  `WITH cleared AS (
     DELETE FROM service_condition WHERE service_id = $1::uuid AND kind = $2 AND clear_after_seconds IS NULL RETURNING service_id)
   INSERT INTO service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
   SELECT t.service_id, t.release_id, 'davit', 'davit', 'stdout', $3, clock_timestamp()::text, clock_timestamp()
     FROM cleared JOIN service_runtime t ON t.service_id = cleared.service_id`,
);

const lapsed = `clear_after_seconds IS NOT NULL AND seen_at < clock_timestamp() - make_interval(secs => clear_after_seconds)`;

/**
 * Removes the conditions of a service ($1) that were last observed longer ago than their `clear_after_seconds`. Returns
 * the worst severity of the remaining conditions; null if none remains.
 */
export const clearLapsedConditions = statement<{ worst: ConditionSeverity | null }>(
  'clearLapsedConditions',
  `WITH cleared AS (
     DELETE FROM service_condition WHERE service_id = $1::uuid AND ${lapsed}
     RETURNING service_id, kind, failure ->> 'code' AS code, seen_at
   ), line AS (
     INSERT INTO service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
     SELECT t.service_id, t.release_id, 'davit', 'davit', 'stdout',
            'Davit: ' || cleared.code || ' is over: the service runs as it should, and it was last observed at '
              || to_char(cleared.seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || '.',
            clock_timestamp()::text, clock_timestamp()
       FROM cleared JOIN service_runtime t ON t.service_id = cleared.service_id)
   SELECT min(severity) AS worst FROM service_condition WHERE service_id = $1::uuid AND kind NOT IN (SELECT kind FROM cleared)`,
);
