import { AppError } from '@davit/base';
import { DatabaseUnavailable, type Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { startStopped, stopRunning } from '../deployment/index.ts';
import { openEnvironment } from '../environment/index.ts';
import { turnAfter, turnUntil } from './schedule.ts';
import * as store from './store.ts';
import { toWindow } from './window.ts';

/** A rule that could not be followed this time. */
export interface RuleFailure {
  readonly environmentId: string;
  readonly error: unknown;
}

/** In whose name rules act; requests of it are merged with each other. */
const actor: Caller = {
  actor: 'deployment rule',
  name: 'deployment rule',
  access: { kind: 'scope', scope: 'ADMIN' },
  organizationId: null,
  origin: 'SERVICE_INTERNAL',
  person: null,
};

/**
 * Starts and stops the environments whose time has come. Any number of processes may do so at once: what is due is taken in the
 * transaction that asks for the deployment, so each turn is taken once. Of turns that were missed, only the last one counts.
 */
export async function runDueRules(deps: Deps, now: Date): Promise<readonly RuleFailure[]> {
  const failures: RuleFailure[] = [];
  for (const rule of await deps.database.many(store.dueRules, [now.toISOString()])) {
    try {
      await deps.database.transaction((tx) => follow(deps, tx, rule.environment_id, now));
    } catch (error) {
      failures.push({ environmentId: rule.environment_id, error });
      // What the environment forbids now (it is being deleted, billing) is no reason to try again every few seconds. A database that is
      // away for a moment is one. That is not thrown on: who locks one environment for long must not keep the others from their turn.
      if (error instanceof AppError && !(error instanceof DatabaseUnavailable) && rule.next_at !== null) {
        await deps.database.run(store.passOver, [rule.environment_id, rule.next_at, nextOf(rule, now)]);
      }
    }
  }
  return failures;
}

async function follow(deps: Deps, tx: Queryable, environmentId: string, now: Date): Promise<void> {
  // The environment is held before its rule, as by whoever edits the rule.
  await openEnvironment(tx, actor, environmentId, 'change');
  const rule = await tx.maybe(store.lockDueRule, [now.toISOString(), environmentId]);
  if (rule === undefined) return;
  if (rule.next_at === null) {
    // An edit changes nothing at once: what counts is what comes after it.
    await tx.run(store.setNext, [environmentId, nextOf(rule, new Date(rule.updated_at))]);
    return;
  }
  const turn = turnUntil(toWindow(rule), now);
  if (turn?.what === 'START') await startStopped(deps, tx, actor, environmentId);
  if (turn?.what === 'STOP') await stopRunning(deps, tx, actor, environmentId);
  await tx.run(store.setNext, [environmentId, nextOf(rule, now)]);
}

/** `infinity`: never, as no day is named. */
function nextOf(rule: store.DueRow, moment: Date): string {
  return turnAfter(toWindow(rule), moment)?.at.toISOString() ?? 'infinity';
}
