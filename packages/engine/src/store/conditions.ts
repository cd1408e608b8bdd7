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

/** The conditions of a service as JSON, worst and oldest first; null where there are none. `service`: the column with its id. */
export const conditionsOf = (service: string): string =>
  `(SELECT jsonb_agg(jsonb_build_object('kind', c.kind, 'severity', c.severity, 'failure', c.failure, 'instance_name', c.instance_name,
             'occurrences', c.occurrences, 'since', c.since, 'seen_at', c.seen_at) ORDER BY c.severity, c.since)
      FROM service_condition c WHERE c.service_id = ${service})`;

/** A state that goes on is seen every few seconds, and written so seldom; more often where its condition would lapse meanwhile. */
const touchSeconds = `least(15, nullif(excluded.clear_after_seconds, 0) / 3.0)`;

/**
 * $1 service, $2 rollout, $3 kind, $4 severity, $5 failure, $6 instance, $7 time, $8 occurrences to add, $9 clear_after_seconds, $10 line of the
 * log. Nothing if that rollout does not run any more. If the condition is open and neither its code, its severity nor its occurrences change,
 * only what it says and when it was seen is stored, now and then. The row is returned as it is afterwards; none: nothing changed.
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

/** $1 service, $2 kind, $3 line of the log. */
export const clearCondition = statement(
  'clearCondition',
  `WITH cleared AS (DELETE FROM service_condition WHERE service_id = $1::uuid AND kind = $2 RETURNING service_id)
   INSERT INTO service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
   SELECT t.service_id, t.release_id, 'davit', 'davit', 'stdout', $3, clock_timestamp()::text, clock_timestamp()
     FROM cleared JOIN service_runtime t ON t.service_id = cleared.service_id`,
);

/** The same, unless the condition is of something that happened, which the keeper clears when it lapses. */
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
 * $1 service: removes the conditions that have not been observed for as long as they say. Answers the worst severity of those that are left;
 * null: none is.
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
