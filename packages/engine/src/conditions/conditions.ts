import type { Queryable } from '@davit/db';
import type { FailureRecord } from '../model.ts';
import type { ConditionKind, ConditionSeverity } from '../port/views.ts';
import * as store from '../store/conditions.ts';

/*
 * What is observed to be wrong with a service after it is deployed. Whoever observes something raises a condition of its kind; the condition
 * is then on the status of the service, in its log, on the live stream, and makes `running_status` WARNING or ERROR (see the keeper), until
 * it is cleared. A new rollout, a stop and a move to another cluster clear all conditions of a service.
 */

/** A fault that was observed in a service that is deployed. */
export interface Observed {
  readonly serviceId: string;
  /** The rollout that it was observed in: if another one runs by now, nothing is written. */
  readonly rollout: string;
  /** A service has one condition of each kind. */
  readonly kind: ConditionKind;
  /** What `running_status` becomes at least. */
  readonly severity: ConditionSeverity;
  /** Cause, message, hint and evidence, redacted. */
  readonly failure: FailureRecord;
  /** Name of the instance; null: it concerns all. */
  readonly instance: string | null;
  /** When it was observed, ISO 8601. */
  readonly at: string;
  /** How often it happened since the last call. 0: a state that goes on, which writes nothing while code and severity stay the same. */
  readonly occurrences: number;
  /** The keeper clears the condition when the service is well and it was not observed for so long; null: the caller clears it. */
  readonly clearAfterSeconds: number | null;
}

/**
 * Opens the condition, or replaces what it says; a line in the log of the service and an event on the stream say so. Returns since when it is
 * open and how often it was observed; null: nothing was written, as nothing changed or another rollout runs.
 */
export async function raiseCondition(
  db: Queryable,
  observed: Observed,
): Promise<{ readonly since: string; readonly occurrences: number } | null> {
  const { serviceId, rollout, kind, severity, failure, instance, at, occurrences, clearAfterSeconds } = observed;
  const values = [serviceId, rollout, kind, severity, JSON.stringify(failure), instance, at, occurrences, clearAfterSeconds];
  return (await db.maybe(store.raiseCondition, [...values, toLine(observed)])) ?? null;
}

/** Ends a condition; without one of that kind nothing happens. */
export async function clearCondition(db: Queryable, serviceId: string, kind: ConditionKind): Promise<void> {
  await db.run(store.clearCondition, [serviceId, kind, `Davit: ${kind} is over.`]);
}

/** As the log of the service has it: from Davit, with severity, cause and advice in one line. */
function toLine({ severity, failure, instance }: Observed): string {
  const about = instance === null ? '' : ` ${instance}:`;
  return `Davit: ${severity} ${failure.code}:${about} ${failure.message} ${failure.hint}`.trim();
}
