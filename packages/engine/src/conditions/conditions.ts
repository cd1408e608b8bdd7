import type { Queryable } from '@davit/db';
import type { FailureRecord } from '../model.ts';
import type { ConditionKind, ConditionSeverity } from '../port/views.ts';
import * as store from '../store/conditions.ts';

/*
 * Conditions are faults that are observed in a service after it is deployed. An observer raises a condition of its
 * kind. Until the condition is cleared, it appears in the status of the service, in its log and on the live stream, and
 * makes `running_status` WARNING or ERROR (see the keeper). A new rollout, a stop and a move to another cluster clear
 * all conditions of a service.
 */

/** A fault that was observed in a deployed service. */
export interface Observed {
  readonly serviceId: string;
  /** The rollout in which the fault was observed. If another rollout runs by now, nothing is written. */
  readonly rollout: string;
  /** Kind of the condition. A service has at most one condition of each kind. */
  readonly kind: ConditionKind;
  /** Minimum severity that `running_status` gets. */
  readonly severity: ConditionSeverity;
  /** Cause, message, hint and evidence, redacted. */
  readonly failure: FailureRecord;
  /** Name of the affected instance; null: all instances are affected. */
  readonly instance: string | null;
  /** Time of the observation, ISO 8601. */
  readonly at: string;
  /**
   * Number of occurrences since the last call. 0: a lasting state, which is logged only once while code and severity
   * stay the same.
   */
  readonly occurrences: number;
  /**
   * Seconds without an observation after which the keeper clears the condition, if the service is well. null: the
   * caller clears it.
   */
  readonly clearAfterSeconds: number | null;
}

/**
 * Opens or replaces the condition, adds a line to the log of the service, and sends an event on the stream. Returns the
 * time at which the condition was opened and its number of occurrences. Returns null if nothing was written because
 * nothing changed or another rollout runs.
 */
export async function raiseCondition(
  db: Queryable,
  observed: Observed,
): Promise<{ readonly since: string; readonly occurrences: number } | null> {
  const { serviceId, rollout, kind, severity, failure, instance, at, occurrences, clearAfterSeconds } = observed;
  const values = [serviceId, rollout, kind, severity, JSON.stringify(failure), instance, at, occurrences, clearAfterSeconds];
  return (await db.maybe(store.raiseCondition, [...values, toLine(observed)])) ?? null;
}

/** Clears a condition. Does nothing if there is no condition of that kind. */
export async function clearCondition(db: Queryable, serviceId: string, kind: ConditionKind): Promise<void> {
  await db.run(store.clearCondition, [serviceId, kind, `Davit: ${kind} is over.`]);
}

/** Formats the condition as a log line of the service: from Davit, with severity, cause and advice in one line. */
function toLine({ severity, failure, instance }: Observed): string {
  const about = instance === null ? '' : ` ${instance}:`;
  return `Davit: ${severity} ${failure.code}:${about} ${failure.message} ${failure.hint}`.trim();
}
