import { abortable, longestTimerMilliseconds, messageOf, retry } from '@davit/base';
import { DriverError } from '@davit/drivers';
import type { StepName } from '../plan/plan.ts';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import type { Step, StepContext, StepOutput, Task } from '../steps/step.ts';
import type { EngineParts } from '../shared/parts.ts';
import type { StepOutcome } from '../port.ts';
import { isTransient, retryPolicy } from '../shared/retry-policy.ts';
import type { ClaimedDeployment } from '../store/journal.ts';
import { crashPoint } from '../shared/crash-point.ts';
import type { DeploymentLog } from './deployment-log.ts';
import type { Journal } from './journal.ts';

/** The user asked to stop. This is not a failure. */
export class Canceled extends Error {
  constructor() {
    super('the deployment was canceled');
    this.name = 'Canceled';
  }
}

export interface StepRunInput {
  readonly parts: EngineParts;
  readonly deployment: ClaimedDeployment;
  readonly journal: Journal;
  readonly log: DeploymentLog;
  readonly task: Task;
  readonly step: Step;
  readonly position: number;
  /** Whether an earlier run of the deployment had begun the step. */
  readonly isRepeated: boolean;
  /** Whether the beginning of the step is recorded already. */
  readonly isBegun: boolean;
  /** Returns the position of the step that begins with the end of this one, which may skip steps; null: none. */
  readonly next: (skipped: readonly StepName[]) => number | null;
  /** Aborts everything: the lease is lost or the process stops. */
  readonly abandon: AbortSignal;
  /** Aborts when the user cancels or another build of the stage fails. */
  readonly cancel: AbortSignal;
  /** Aborts when the user cancels with force. */
  readonly force: AbortSignal;
}

// Terraform may need minutes to end cleanly. Nothing else takes more than seconds.
const graceMilliseconds = 600_000;

/**
 * Runs one step within its deadline, retries transient failures, and records the result. Returns the steps that are
 * skipped.
 */
export async function runStep(input: StepRunInput): Promise<readonly StepName[]> {
  const { step, task, journal, log } = input;
  const { counts } = input.parts;
  const began = performance.now();
  const count = (outcome: StepOutcome): void =>
    counts.stepEnded({ step: step.name, outcome, seconds: (performance.now() - began) / 1_000 });
  const isCanceled = (): boolean => interruptOf(input)?.aborted === true;
  if (isCanceled()) {
    // Otherwise the step would be shown as running while earlier ones are undone.
    const isOpen = input.isBegun || input.isRepeated;
    if (isOpen) await journal.endStep({ serviceId: task.serviceId, position: input.position, status: 'CANCELED' });
    throw new Canceled();
  }
  if (!input.isBegun) await journal.beginStep(task.serviceId, input.position);
  if (input.isRepeated) counts.stepRepeated(step.name, 'RESUME');
  await crashPoint(`${step.name}:before`);
  let output: StepOutput;
  try {
    output = await attempt(input);
  } catch (error) {
    const interrupted = input.abandon.aborted || error instanceof ClusterUnreachable;
    const canceled = !interrupted && isCanceled();
    count(interrupted ? 'INTERRUPTED' : canceled ? 'CANCELED' : 'FAILED');
    if (interrupted) {
      await log.flush();
      throw error;
    }
    const status = canceled ? 'CANCELED' : 'FAILED';
    await journal.endStep({ serviceId: task.serviceId, position: input.position, status, lines: await log.take() });
    throw canceled ? new Canceled() : error;
  }
  task.outputs.set(step.name, output);
  count('DONE');
  await crashPoint(`${step.name}:after`);
  await journal.endStep({
    serviceId: task.serviceId,
    position: input.position,
    status: 'DONE',
    output,
    lines: await log.take(),
    begins: input.next(output.skip ?? []),
  });
  await crashPoint(`${step.name}:recorded`);
  return output.skip ?? [];
}

/** Returns the signal that interrupts the step besides its deadline; null if the user cannot interrupt the step. */
function interruptOf({ step, cancel, force }: StepRunInput): AbortSignal | null {
  if (step.cancelable === 'FORCED') return force;
  return step.cancelable ? cancel : null;
}

async function attempt(input: StepRunInput): Promise<StepOutput> {
  const { step, task, log } = input;
  const interrupts = interruptOf(input);
  const line = (message: string): void => log.add(step.name, message, { serviceId: task.serviceId });
  const deadline = new AbortController();
  const signal = AbortSignal.any([input.abandon, deadline.signal, ...(interrupts === null ? [] : [interrupts])]);
  const context: StepContext = {
    parts: input.parts,
    deployment: input.deployment,
    journal: input.journal,
    task,
    call: { signal, log: line, leave: input.abandon, force: input.force },
  };
  const seconds = typeof step.deadlineSeconds === 'number' ? step.deadlineSeconds : step.deadlineSeconds(context);
  // A probe or a job may be given months.
  const timer = setTimeout(() => deadline.abort(), Math.min(seconds * 1_000, longestTimerMilliseconds));
  const hard = abortAfterGrace(signal);
  try {
    const done = retry(
      {
        ...retryPolicy(input.parts.settings),
        signal,
        isRetryable: (error) => isTransient(error) && !signal.aborted,
        onRetry: (error) => {
          input.parts.counts.stepRepeated(step.name, 'RETRY');
          line(`${messageOf(error)}; trying again.`);
        },
      },
      () => step.run(context),
    );
    return await abortable(done, hard.signal);
  } catch (error) {
    if (!deadline.signal.aborted || input.abandon.aborted || interrupts?.aborted === true) throw error;
    throw new DriverError({
      cause: 'STEP_TIMEOUT',
      message: `${step.name} of ${task.name} took longer than ${seconds} s`,
      error,
    });
  } finally {
    clearTimeout(timer);
    hard.forget();
  }
}

/**
 * Returns a signal that aborts a long time after `signal` did, for calls that ignore `signal`. Every driver should obey
 * its signal. A driver that does not must not block a deployment, and with it the environment, forever.
 */
function abortAfterGrace(signal: AbortSignal): { readonly signal: AbortSignal; forget(): void } {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    timer = setTimeout(() => late.abort(), graceMilliseconds);
  };
  if (signal.aborted) start();
  else signal.addEventListener('abort', start, { once: true });
  const forget = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', start);
  };
  return { signal: late.signal, forget };
}
