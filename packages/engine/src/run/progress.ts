import type { Kinds } from '../kinds/kinds.ts';
import type { StepName } from '../plan/plan.ts';
import type { TaskState } from './prepare.ts';

/* Derives from the steps of a service how far its deployment has come. */

/** Returns the step that runs after the service has succeeded; undefined if there is none. */
export function stepBehind(kinds: Kinds, { plan }: TaskState): StepName | undefined {
  const last = plan.deploy.at(-1);
  return last !== undefined && kinds.step(last).runsBehind === true ? last : undefined;
}

/** Returns whether a step has begun, or is done, after which nothing is undone. */
export function isOnlyForward(kinds: Kinds, { begun, done }: TaskState): boolean {
  return (
    [...begun].some((name) => kinds.step(name).onlyForward === 'ONCE_BEGUN') ||
    [...done].some((name) => kinds.step(name).onlyForward === 'ONCE_DONE')
  );
}

/**
 * Returns whether the work is under way that only a forced cancel interrupts: all steps before the step that waits for
 * its end are done.
 */
export function isAwaited(kinds: Kinds, { plan, done }: TaskState): boolean {
  const at = plan.deploy.findIndex((name) => kinds.step(name).cancelable === 'FORCED');
  return at !== -1 && plan.deploy.slice(0, at).every((name) => done.has(name));
}
