import { messageOf, retry } from '@davit/base';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import type { ExecutingParts } from '../kinds/kinds.ts';
import { isDatabaseUnreachable, retryPolicy } from '../shared/retry-policy.ts';
import type { Step, StepContext } from '../steps/step.ts';
import type { ClaimedDeployment } from '../store/journal.ts';
import type { ClusterWait } from './cluster-wait.ts';
import { crashPoint } from '../shared/crash-point.ts';
import type { DeploymentLog } from './deployment-log.ts';
import { LeaseLost, type Journal } from './journal.ts';
import type { TaskState } from './prepare.ts';

// Undoing may wait for pods. An endless wait must not block the environment forever.
const maxMilliseconds = 1_800_000;
/** Attempts to undo a step whose remains nobody else removes. */
const attemptsOfOwed = 4;

interface TakeBackInput {
  readonly parts: ExecutingParts;
  readonly deployment: ClaimedDeployment;
  readonly journal: Journal;
  readonly log: DeploymentLog;
  readonly wait: ClusterWait;
  readonly abandon: AbortSignal;
  readonly force: AbortSignal;
}

/**
 * Undoes a deployment's steps for a service: those that were begun, the last one first. Returns what the user has to
 * know if that failed; null if it succeeded, or if the keeper cleans up. After a kill in the middle the next runner
 * calls this again.
 */
export async function takeBack(
  { task, plan, begun }: TaskState,
  { parts, deployment, journal, log, wait, abandon, force }: TakeBackInput,
): Promise<string | null> {
  const { serviceId } = task;
  const undone = [...plan.build, ...plan.deploy]
    .filter((name) => begun.has(name))
    .map((name) => parts.kinds.step(name))
    .toReversed();
  const isDue = undone.some(({ mustBeUndone }) => mustBeUndone === true);
  const signal = AbortSignal.any([abandon, AbortSignal.timeout(maxMilliseconds)]);
  const say = (message: string): void => log.add('undo', message, { serviceId });
  const context: StepContext = { parts, deployment, task, journal, call: { signal, leave: abandon, force, log: say } };
  try {
    await retry(
      {
        ...retryPolicy(parts.settings),
        attempts: isDue ? attemptsOfOwed : 1,
        signal,
        // Any failure is retried, not only a transient one, because nobody else would undo the step.
        isRetryable: (error) => !mustPass(error) && !(error instanceof ClusterUnreachable) && !signal.aborted,
        onRetry: (error) => say(`${messageOf(error)}; trying again.`),
      },
      () => undo(undone, context),
    );
  } catch (error) {
    if (error instanceof LeaseLost || abandon.aborted || (isDue && mustPass(error))) throw error;
    if (isDue && error instanceof ClusterUnreachable && (await wait.begin(error, serviceId, true))) throw error;
    // The user must see the original failure. The keeper removes remaining instances.
    const message = isDue
      ? `The former release could not be restored: ${messageOf(error)}. The next deployment does that first`
      : `The first attempt to clean up failed: ${messageOf(error)}`;
    log.add('undo', message, { serviceId, level: 'WARNING' });
    return isDue ? message : null;
  }
  return null;
}

/**
 * A step whose undo fails ends the sequence: the results of earlier steps may be restored only when those of the later
 * step are gone.
 */
async function undo(undone: readonly Step[], context: StepContext): Promise<void> {
  for (const step of undone) {
    if (step.undo === undefined) continue;
    await crashPoint(`undo-${step.name}:before`);
    await step.undo(context);
    await crashPoint(`undo-${step.name}:after`);
  }
}

/** Returns whether the user did not cause the error. The runner that resumes the deployment continues from here. */
function mustPass(error: unknown): boolean {
  return error instanceof LeaseLost || isDatabaseUnreachable(error);
}
