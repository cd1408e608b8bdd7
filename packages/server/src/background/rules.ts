import { systemClock, type Clock } from '@davit/base';
import type { Deps } from '../deps.ts';
import { runDueRules } from '../resources/deployment-rule/index.ts';

export interface RuleLog {
  warn(details: object, message: string): void;
}

export interface RuleClock {
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

export interface RuleTiming {
  readonly clock?: Clock;
  /** Environments start and stop on the minute, give or take this. Default: 10,000. */
  readonly intervalMilliseconds?: number;
}

/** Follows the deployment rules of environments until it is stopped. Several processes may do so side by side. */
export function followRules(deps: Deps, log: RuleLog, timing: RuleTiming = {}): RuleClock {
  const { clock = systemClock, intervalMilliseconds = 10_000 } = timing;
  let underway: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    try {
      for (const { environmentId, error } of await runDueRules(deps, clock.now())) {
        log.warn({ environmentId, err: error }, 'a deployment rule could not be followed');
      }
    } catch (error) {
      // The database is away; the next look comes soon, and what is due stays due.
      log.warn({ err: error }, 'deployment rules could not be looked at');
    }
  };
  const timer = setInterval(() => {
    underway ??= look().finally(() => (underway = undefined));
  }, intervalMilliseconds);
  return {
    stop: async () => {
      clearInterval(timer);
      await underway;
    },
  };
}
