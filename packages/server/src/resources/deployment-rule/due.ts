import { AppError } from '@davit/base';
import { DatabaseUnavailable, type Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from '../service/index.ts';
import { startStopped, stopRunning } from '../deployment/index.ts';
import { openEnvironment } from '../environment/index.ts';
import { turnAfter, turnUntil } from './schedule.ts';
import * as store from './store.ts';
import { toWindow } from './window.ts';

/** A rule that could not be applied this time. */
export interface RuleFailure {
  readonly environmentId: string;
  readonly error: unknown;
}

/** The caller in whose name rules act. Requests of the same caller are merged. */
const actor: Caller = {
  actor: 'deployment rule',
  name: 'deployment rule',
  access: { kind: 'scope', scope: 'ADMIN' },
  organizationId: null,
  origin: 'SERVICE_INTERNAL',
  person: null,
};

/**
 * Starts and stops the environments whose time has come. Any number of processes may do so at once: the transaction
 * that requests the deployment also takes the due turn, so each turn is taken once. If several turns were missed, only
 * the last one counts.
 */
export async function runDueRules(
  deps: Needs<'database' | 'engine' | 'vault', keyof ReleaseSettings>,
  now: Date,
): Promise<readonly RuleFailure[]> {
  const failures: RuleFailure[] = [];
  for (const rule of await deps.database.many(store.dueRules, [now.toISOString()])) {
    try {
      await deps.database.transaction((tx) => follow(deps, tx, rule.environment_id, now));
    } catch (error) {
      failures.push({ environmentId: rule.environment_id, error });
      // Errors that come from the environment itself (it is being deleted, billing) are no reason to retry every few
      // seconds. A database that is unreachable for a moment is one. No error is rethrown: a transaction that locks one
      // environment for long must not keep the other environments from their turn.
      if (error instanceof AppError && !(error instanceof DatabaseUnavailable) && rule.next_at !== null) {
        await deps.database.run(store.passOver, [rule.environment_id, rule.next_at, nextOf(rule, now)]);
      }
    }
  }
  return failures;
}

async function follow(
  deps: Needs<'engine' | 'vault', keyof ReleaseSettings>,
  tx: Queryable,
  environmentId: string,
  now: Date,
): Promise<void> {
  // The environment is locked before its rule, in the same order as in edits of the rule.
  await openEnvironment(tx, actor, environmentId, 'change');
  const rule = await tx.maybe(store.lockDueRule, [now.toISOString(), environmentId]);
  if (rule === undefined) return;
  if (rule.next_at === null) {
    // An edit has no immediate effect. Only turns after the edit count.
    await tx.run(store.setNext, [environmentId, nextOf(rule, new Date(rule.updated_at))]);
    return;
  }
  const turn = turnUntil(toWindow(rule), now);
  if (turn?.what === 'START') await startStopped(deps, tx, actor, environmentId);
  if (turn?.what === 'STOP') await stopRunning(deps, tx, actor, environmentId);
  await tx.run(store.setNext, [environmentId, nextOf(rule, now)]);
}

/** Returns `infinity` if the rule names no day, so that it is never due. */
function nextOf(rule: store.DueRow, moment: Date): string {
  return turnAfter(toWindow(rule), moment)?.at.toISOString() ?? 'infinity';
}
