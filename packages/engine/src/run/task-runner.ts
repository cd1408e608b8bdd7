import type { FailureRecord } from '../model.ts';
import type { StepName } from '../plan/plan.ts';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import type { ExecutingParts } from '../kinds/kinds.ts';
import { isDatabaseUnreachable } from '../shared/retry-policy.ts';
import type { Phase } from '../states.ts';
import * as store from '../store/journal.ts';
import { removeMetrics } from '../store/metrics.ts';
import { readRuntimes } from '../store/requests.ts';
import { sentenceOf, withChanges } from './changed-since.ts';
import type { ClusterWait } from './cluster-wait.ts';
import { shownFailure, type DeploymentEnd } from './deployment-end.ts';
import type { DeploymentLog } from './deployment-log.ts';
import { LeaseLost, type Journal } from './journal.ts';
import { isFailed, positionOf, type TaskState } from './prepare.ts';
import { isAwaited, isOnlyForward } from './progress.ts';
import { Canceled, runStep } from './step-run.ts';
import { takeBack } from './undo.ts';

interface TaskRunnerInput {
  readonly parts: ExecutingParts;
  readonly deployment: store.ClaimedDeployment;
  readonly journal: Journal;
  readonly log: DeploymentLog;
  readonly wait: ClusterWait;
  readonly end: DeploymentEnd;
  readonly abandon: AbortSignal;
  readonly cancel: AbortSignal;
  readonly force: AbortSignal;
}

/**
 * Works on single services of a deployment: runs their steps, undoes them, and records how each service ended. The
 * order of services is up to the caller.
 */
export class TaskRunner {
  readonly #input: TaskRunnerInput;
  /** Names of the services that failed first, by call. */
  readonly #firstFailed = new Map<string | null, string>();

  constructor(input: TaskRunnerInput) {
    this.#input = input;
  }

  /** Takes the failures that an earlier attempt has recorded in the phases. */
  resume(tasks: readonly TaskState[]): void {
    for (const task of tasks) if (isFailed(task)) this.noteFailed(task);
  }

  /** Notes the first failure of a call. It is the reason why the other services of the call are canceled. */
  noteFailed({ callId, task }: TaskState): void {
    if (!this.#firstFailed.has(callId)) this.#firstFailed.set(callId, task.name);
  }

  /** Runs those of the steps that are not done yet, in order, and records each in the journal. */
  async run(member: TaskState, names: readonly StepName[], cancel: AbortSignal): Promise<void> {
    const { parts, deployment, abandon } = this.#input;
    for (const [index, name] of names.entries()) {
      const position = positionOf(member.plan, name);
      if (member.done.has(name)) continue;
      const isRepeated = member.begun.has(name);
      const isBegun = member.ahead === name;
      member.begun.add(name);
      member.ahead = null;
      const skipped = await runStep({
        parts,
        deployment,
        journal: this.#input.journal,
        log: this.#input.log,
        task: member.task,
        step: parts.kinds.step(name),
        position,
        isRepeated,
        isBegun,
        next: (steps) => this.#beginNext(member, names.slice(index + 1), steps),
        abandon,
        cancel,
        force: this.#input.force,
      });
      member.done.add(name);
      await this.#input.wait.end();
      for (const one of skipped) {
        member.done.add(one);
        await this.#input.journal.endStep({
          serviceId: member.task.serviceId,
          position: positionOf(member.plan, one),
          status: 'SKIPPED',
        });
      }
    }
  }

  /**
   * Returns the failure of an action; null if it succeeded or was canceled (then the task is canceled). Rethrows
   * fencing errors, and errors due to an unreachable database: the user did not cause them, and the deployment resumes
   * when the database is reachable again.
   */
  async guard(member: TaskState, action: () => Promise<void>): Promise<FailureRecord | null> {
    try {
      await action();
      return null;
    } catch (error) {
      if (error instanceof LeaseLost || this.#input.abandon.aborted || isDatabaseUnreachable(error)) throw error;
      if (error instanceof Canceled) {
        await this.#cancelTask(member);
        return null;
      }
      if (error instanceof ClusterUnreachable) {
        if (await this.#input.wait.begin(error, member.task.serviceId)) throw error;
        if (this.#input.cancel.aborted && isOnlyForward(this.#input.parts.kinds, member)) {
          const message = 'Stopping it has begun and is not canceled: what is left of it stops when the cluster answers again.';
          this.#input.log.add('cancel', message, { serviceId: member.task.serviceId, level: 'WARNING' });
        }
        // The service is not serving yet, so its end can be recorded without the cluster.
        if (this.#input.cancel.aborted && !(await this.#isRouted(member))) {
          await this.#cancelTask(member);
          return null;
        }
      }
      return shownFailure(error, {
        ...this.#input,
        reference: `${this.#input.deployment.id}/${member.task.serviceId}`,
      });
    }
  }

  /** Records that a service enters a phase, and that the first of these steps begins. */
  async enter(member: TaskState, phase: Phase, steps: readonly StepName[] = []): Promise<void> {
    if (member.phase === phase) return;
    member.phase = phase;
    await this.#input.journal.setPhase(member.task.serviceId, phase, { begins: this.#beginNext(member, steps) });
  }

  /**
   * Notes that the first of these steps that is open begins with what is recorded next, and returns its position; null
   * if it begins by itself. One statement for an end and a beginning saves a commit for each step.
   */
  #beginNext(member: TaskState, steps: readonly StepName[], skipped: readonly StepName[] = []): number | null {
    const next = steps.find((name) => !member.done.has(name) && !skipped.includes(name));
    // The beginning of such a step decides what a canceled deployment does: it is not recorded early.
    const isFree = next === undefined || this.#input.parts.kinds.step(next).onlyForward !== 'ONCE_BEGUN';
    member.ahead = isFree && !this.#input.cancel.aborted ? (next ?? null) : null;
    return member.ahead === null ? null : positionOf(member.plan, member.ahead);
  }

  /**
   * Records that the service has succeeded, and that the first of the steps behind it begins. If the service was
   * deleted, what is stored of it goes in the same transaction.
   */
  async succeed(member: TaskState, behind: readonly StepName[]): Promise<void> {
    const { deployment, parts } = this.#input;
    const { serviceId, name } = member.task;
    this.#input.log.add('end', `${name}: done.`, { serviceId });
    member.phase = 'SUCCEEDED';
    const lines = await this.#input.log.take();
    if (deployment.action !== 'DELETE' && deployment.action !== 'UNINSTALL')
      return this.#input.journal.setPhase(serviceId, 'SUCCEEDED', { lines, begins: this.#beginNext(member, behind) });
    await this.#input.journal.transaction(async (tx) => {
      await this.#input.journal.setPhase(serviceId, 'SUCCEEDED', { lines, db: tx });
      if (deployment.action === 'DELETE') {
        await parts.hooks.serviceDeleted(tx, serviceId);
        await tx.run(removeMetrics, [serviceId]);
      }
      await tx.run(store.removeReleases, [serviceId]);
      await tx.run(store.removeServiceLog, [serviceId]);
      await tx.run(store.removeLogSegments, [serviceId]);
      await tx.run(store.removeLogPositions, [serviceId]);
    });
  }

  /** Undoes what was started of the service, and records its failure. */
  async fail(member: TaskState, phase: 'BUILD_FAILED' | 'FAILED', cause: FailureRecord): Promise<void> {
    const { serviceId, name } = member.task;
    this.noteFailed(member);
    this.#input.end.noteCause(cause.code);
    const failure = await withChanges(this.#input.parts.database, member.task, cause);
    const evidence = failure.evidence.lines ?? [];
    for (const line of evidence) this.#input.log.add('evidence', line, { serviceId });
    this.#input.log.add('end', `${name}: ${failure.message}`, { serviceId, level: 'ERROR', error: failure });
    const changed = sentenceOf(failure.changedSinceSuccess ?? null);
    if (changed !== null) this.#input.log.add('end', `${name}: ${changed}`, { serviceId });
    const left = await this.#undo(member);
    member.phase = phase;
    const whole = left === null ? failure : { ...failure, message: `${failure.message.replace(/\.$/, '')}. ${left}` };
    await this.#input.journal.setPhase(serviceId, phase, { failure: whole, lines: await this.#input.log.take() });
  }

  #cause({ callId }: TaskState): string {
    if (this.#input.cancel.aborted) return '';
    const failed = this.#firstFailed.get(callId);
    return failed === undefined ? '' : `, as ${failed} failed`;
  }

  async #cancelTask(member: TaskState): Promise<void> {
    if (member.phase === 'WORKING') await this.enter(member, 'CANCELING');
    await this.#undo(member);
    await this.endCanceled(member);
  }

  /** Records that the service was canceled. Undoes nothing. */
  async endCanceled(member: TaskState): Promise<void> {
    const { serviceId, name } = member.task;
    this.#input.log.add('end', `${name}: canceled${this.#cause(member)}.`, { serviceId, level: 'WARNING' });
    await this.#input.log.flush();
    await this.enter(member, 'CANCELED');
  }

  /** Undoes what was started, unless the routes have already changed. See `takeBack`. */
  async #undo(member: TaskState): Promise<string | null> {
    const { deployment, parts } = this.#input;
    const { config, serviceType } = member.task;
    const isUp = deployment.action === 'DEPLOY' || deployment.action === 'RESTART';
    const rollsOut = isUp || parts.kinds.ofService(serviceType, config).runsWhenTakenDown;
    if (!rollsOut || member.phase === 'BUILDING' || (await this.#isRouted(member))) return null;
    return takeBack(member, this.#input);
  }

  /** Returns whether the deployment has already changed what should run. From there on it only goes forward. */
  async #isRouted(member: TaskState): Promise<boolean> {
    if (isOnlyForward(this.#input.parts.kinds, member)) return true;
    const [runtime] = await this.#input.parts.database.many(readRuntimes, [[member.task.serviceId]]);
    return runtime?.rollout === member.task.rollout;
  }

  /** Cancels the service if the signal is aborted and no step is under way. Returns whether it is canceled. */
  async cancelWaiting(member: TaskState, signal: AbortSignal): Promise<boolean> {
    if (!signal.aborted) return false;
    // CANCELING: the cancel preceded a restart of Davit. Steps begun before are undone where possible. The run of a job
    // is awaited nevertheless, unless the cancel is forced.
    const mustBeAwaited = isAwaited(this.#input.parts.kinds, member) && !this.#input.force.aborted;
    const interrupted = member.phase === 'CANCELING' && !mustBeAwaited && !(await this.#isRouted(member));
    // BUILDING: the image is built, or was being built. Nothing of the service is on the cluster.
    if (member.phase !== 'WAITING' && member.phase !== 'BUILDING' && !interrupted) return false;
    if (interrupted) await this.#undo(member);
    await this.endCanceled(member);
    return true;
  }
}
