import { inParallel, isAppError, redactor, type Redactor } from '@davit/base';
import { DriverError } from '@davit/drivers';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import type { FailureRecord } from '../model.ts';
import type { EngineParts } from '../shared/parts.ts';
import { isDatabaseUnreachable } from '../shared/retry-policy.ts';
import type { StepName } from '../plan/plan.ts';
import { isFinished, type Phase } from '../states.ts';
import * as store from '../store/journal.ts';
import { removeMetrics } from '../store/metrics.ts';
import { readRuntimes } from '../store/requests.ts';
import { sentenceOf, withChanges } from './changed-since.ts';
import { DeploymentLog } from './deployment-log.ts';
import { Journal, LeaseLost } from './journal.ts';
import type { Semaphore } from '../shared/semaphore.ts';
import { ClusterWait, type Waiting } from './cluster-wait.ts';
import { Canceled, runStep } from './step-run.ts';
import { redactorOrBlind } from '../shared/readable.ts';
import { takeBack } from './undo.ts';
import { DeploymentEnd, shownFailure } from './deployment-end.ts';
import { isFailed, positionOf, prepareTasks, valuesToHide, type TaskState } from './prepare.ts';
import { beginsAtOnce, isAwaited, isOnlyForward, stepBehind } from './progress.ts';

export interface DeploymentRunInput {
  readonly parts: EngineParts;
  readonly deployment: store.ClaimedDeployment;
  /** Whether another runner, or this one before a restart, had begun the deployment. */
  readonly resumed: boolean;
  readonly builds: Semaphore;
  readonly abandon: AbortSignal;
  readonly cancel: AbortSignal;
  /** Aborts if the user cancels with force: steps that an ordinary cancel waits for are interrupted too. */
  readonly force: AbortSignal;
  /** The deployment was resumed repeatedly without success. A further interruption by a lasting error fails it. */
  readonly isLastTry: boolean;
}

// Maximum number of concurrent tasks of one stage, as documented publicly for this API.
const parallelTasks = 7;

/** One deployment from claim to end. The journal holds what earlier attempts have done. */
export class DeploymentRun {
  readonly #input: DeploymentRunInput;
  readonly #journal: Journal;
  readonly #log: DeploymentLog;
  #tasks: readonly TaskState[] = [];
  #isPrepared = false;
  /** Names of the services that failed first, by call. They are the reason why others of the call are canceled. */
  readonly #firstFailed = new Map<string | null, string>();
  /** Clean-ups during which former instances drain and stop while the next stage continues. */
  readonly #tails: Promise<void>[] = [];
  readonly #wait: ClusterWait;
  readonly #end: DeploymentEnd;
  /**
   * Aborts when the run is abandoned, so that none of its work continues beside the run that resumes the deployment.
   */
  readonly #abandon = new AbortController();
  /** Aborts when the lease is lost or the process stops. */
  readonly #abandonedFromOutside: AbortSignal;

  constructor(input: DeploymentRunInput) {
    this.#input = { ...input, abandon: AbortSignal.any([input.abandon, this.#abandon.signal]) };
    this.#abandonedFromOutside = input.abandon;
    const { deployment, parts } = input;
    this.#journal = new Journal(parts.database, deployment.id, deployment.fence);
    this.#log = new DeploymentLog(parts.database, deployment.id, (text) => text);
    this.#wait = new ClusterWait({ ...input, journal: this.#journal, log: this.#log });
    this.#end = new DeploymentEnd({ ...this.#input, journal: this.#journal, log: this.#log, wait: this.#wait });
  }

  /**
   * Resolves when the end of the deployment is recorded. Rejects:
   * - with LeaseLost;
   * - when the run was abandoned;
   * - when the end cannot be recorded because the database is unreachable.
   * None of the run's work is under way after that.
   */
  async execute(): Promise<void> {
    try {
      await this.#work();
    } catch (error) {
      const isOver = error instanceof LeaseLost || this.#abandonedFromOutside.aborted || this.waiting !== null;
      // A preparation that fails in this way would fail again, and this attempt has nothing to undo.
      const isHopeless = !this.#isPrepared && (isTooLarge(error) || this.#input.cancel.aborted);
      if (isOver || isDatabaseUnreachable(error) || !(this.#input.isLastTry || isHopeless)) throw error;
      await this.#end.giveUp(error, this.#tasks);
    }
  }

  async #work(): Promise<void> {
    try {
      const stages = await this.#prepare();
      this.#isPrepared = true;
      for (const members of stages) {
        await this.#buildStage(members);
        await this.#deployStage(members);
      }
      await Promise.all(this.#tails);
      await this.#end.finish(this.#tasks);
    } finally {
      this.#abandon.abort();
      await Promise.allSettled(this.#tails);
    }
  }

  /**
   * The cluster that the deployment waits for, if the run was abandoned because the cluster is unreachable. The
   * deployment is resumed when the cluster is reachable again.
   */
  get waiting(): Waiting | null {
    return this.#wait.waiting;
  }

  /** Runs the action for several services at once. If one of them has to abandon the run, all do. */
  async #forEach(members: readonly TaskState[], action: (member: TaskState) => Promise<void>): Promise<void> {
    await inParallel(members, parallelTasks, async (member) => {
      try {
        await action(member);
      } catch (error) {
        this.#abandon.abort();
        throw error;
      }
    });
  }

  /** Loads the services by stage with their recorded progress, and the values that must be redacted in the log. */
  async #prepare(): Promise<readonly (readonly TaskState[])[]> {
    const { deployment, parts, resumed } = this.#input;
    await parts.clusters.know(deployment.driver);
    const stages = await prepareTasks({ parts, deployment, journal: this.#journal });
    this.#tasks = stages.flat();
    this.#log.redact = await this.#redactor();
    if (resumed)
      this.#log.add('resume', 'Davit stopped in the middle of this deployment and now resumes it.', { level: 'WARNING' });
    return stages;
  }

  /**
   * Returns a redactor for this deployment's secrets. Fails with the DriverError SECRETS_TOO_LARGE, unless the services
   * are only stopped or removed.
   */
  async #redactor(): Promise<Redactor> {
    const { deployment, parts } = this.#input;
    const values = await valuesToHide(parts, this.#tasks);
    if (deployment.action !== 'DEPLOY' && deployment.action !== 'RESTART') return redactorOrBlind(values);
    try {
      return await redactor(values);
    } catch (error) {
      if (!isAppError(error)) throw error;
      throw new DriverError({ cause: 'SECRETS_TOO_LARGE', message: error.message });
    }
  }

  async #buildStage(members: readonly TaskState[]): Promise<void> {
    const building = members.filter(
      (member) => !isFinished(member.phase) && member.plan.build.some((name) => !member.done.has(name)),
    );
    if (building.length === 0) return;
    // A failed build cancels the other builds of its call in the stage, because none of their services will be
    // deployed.
    const failures = new Map(building.map(({ callId }) => [callId, new AbortController()]));
    await this.#forEach(building, async (member) => {
      const callFailed = failures.get(member.callId) ?? new AbortController();
      if (await this.#cancelWaiting(member, callFailed.signal)) return;
      await this.#enter(member, 'BUILDING');
      const cancel = AbortSignal.any([this.#input.cancel, callFailed.signal]);
      const failure = await this.#guard(member, () =>
        this.#inTurn(cancel, () => this.#runSteps(member, member.plan.build, cancel)),
      );
      if (failure === null) return;
      this.#noteFailed(member);
      callFailed.abort();
      await this.#fail(member, 'BUILD_FAILED', failure);
    });
    await this.#cancelRest(members);
  }

  /**
   * Runs the build when a build slot is free. A build that is canceled before does not wait for the builds of others.
   */
  async #inTurn(cancel: AbortSignal, build: () => Promise<void>): Promise<void> {
    let begun = false;
    const begin = (): Promise<void> => {
      begun = true;
      return build();
    };
    try {
      await this.#input.builds.use(begin, AbortSignal.any([cancel, this.#input.abandon]));
    } catch (error) {
      throw !begun && cancel.aborted ? new Canceled() : error;
    }
  }

  async #deployStage(members: readonly TaskState[]): Promise<void> {
    const { kinds } = this.#input.parts;
    for (const member of members) {
      // The clean-up is left over from a process that ended between the success and the clean-up.
      const behind = stepBehind(kinds, member);
      if (member.phase === 'SUCCEEDED' && behind !== undefined && !member.done.has(behind))
        this.#follow(this.#runBehind(member, behind));
    }
    const open = members.filter((member) => !isFinished(member.phase));
    await this.#forEach(open, async (member) => {
      if (this.#hasFailed(member.callId, members) || (await this.#cancelWaiting(member, this.#input.cancel))) return;
      await this.#enter(member, 'WORKING');
      const behind = stepBehind(kinds, member);
      const foreground = member.plan.deploy.filter((name) => name !== behind);
      const failure = await this.#guard(member, () => this.#runSteps(member, foreground, this.#input.cancel));
      if (failure !== null) return this.#fail(member, 'FAILED', failure);
      if (isFinished(member.phase)) return;
      await this.#succeed(member);
      if (behind !== undefined) this.#follow(this.#runBehind(member, behind));
    });
    await this.#cancelRest(members);
  }

  #follow(tail: Promise<void>): void {
    this.#tails.push(tail);
    // The tail is awaited only at the end. Until then its failure would go unnoticed.
    tail.catch(() => this.#abandon.abort());
  }

  #hasFailed(callId: string | null, members: readonly TaskState[]): boolean {
    return members.some((member) => member.callId === callId && isFailed(member));
  }

  #noteFailed({ callId, task }: TaskState): void {
    if (!this.#firstFailed.has(callId)) this.#firstFailed.set(callId, task.name);
  }

  /**
   * Removes the former instances. If an instance cannot be removed, the keeper removes it later; the new release is
   * already serving.
   */
  async #runBehind(member: TaskState, name: StepName): Promise<void> {
    const failure = await this.#guard(member, () => this.#runSteps(member, [name], this.#input.cancel));
    if (failure !== null) {
      this.#log.add(name, `${failure.message}. Davit removes the former instances later.`, {
        serviceId: member.task.serviceId,
        level: 'WARNING',
      });
    }
  }

  async #runSteps(member: TaskState, names: readonly StepName[], cancel: AbortSignal): Promise<void> {
    const { parts, deployment, abandon } = this.#input;
    let following: StepName | null = null;
    for (const [index, name] of names.entries()) {
      const position = positionOf(member.plan, name);
      if (member.done.has(name)) continue;
      const isRepeated = member.begun.has(name);
      member.begun.add(name);
      const skipped = await runStep({
        parts,
        deployment,
        journal: this.#journal,
        log: this.#log,
        task: member.task,
        step: parts.kinds.step(name),
        position,
        isRepeated,
        isBegun: following === name,
        next: (ended) => {
          following = beginsAtOnce(parts.kinds, member, names.slice(index + 1), ended);
          return following === null ? null : positionOf(member.plan, following);
        },
        abandon,
        cancel,
        force: this.#input.force,
      });
      member.done.add(name);
      await this.#wait.end();
      for (const one of skipped) {
        member.done.add(one);
        await this.#journal.endStep({
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
  async #guard(member: TaskState, action: () => Promise<void>): Promise<FailureRecord | null> {
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
        if (await this.#wait.begin(error, member.task.serviceId)) throw error;
        if (this.#input.cancel.aborted && isOnlyForward(this.#input.parts.kinds, member)) {
          const message = 'Stopping it has begun and is not canceled: what is left of it stops when the cluster answers again.';
          this.#log.add('cancel', message, { serviceId: member.task.serviceId, level: 'WARNING' });
        }
        // The service is not serving yet, so its end can be recorded without the cluster.
        if (this.#input.cancel.aborted && !(await this.#isRouted(member))) {
          await this.#cancelTask(member);
          return null;
        }
      }
      return shownFailure(error, {
        ...this.#input,
        log: this.#log,
        reference: `${this.#input.deployment.id}/${member.task.serviceId}`,
      });
    }
  }

  async #enter(member: TaskState, phase: Phase): Promise<void> {
    if (member.phase === phase) return;
    member.phase = phase;
    await this.#journal.setPhase(member.task.serviceId, phase);
  }

  async #succeed(member: TaskState): Promise<void> {
    const { deployment, parts } = this.#input;
    const { serviceId, name } = member.task;
    this.#log.add('end', `${name}: done.`, { serviceId });
    member.phase = 'SUCCEEDED';
    const lines = await this.#log.take();
    if (deployment.action !== 'DELETE' && deployment.action !== 'UNINSTALL')
      return this.#journal.setPhase(serviceId, 'SUCCEEDED', { lines });
    await this.#journal.transaction(async (tx) => {
      await this.#journal.setPhase(serviceId, 'SUCCEEDED', { lines, db: tx });
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

  async #fail(member: TaskState, phase: 'BUILD_FAILED' | 'FAILED', cause: FailureRecord): Promise<void> {
    const { serviceId, name } = member.task;
    this.#noteFailed(member);
    this.#end.noteCause(cause.code);
    const failure = await withChanges(this.#input.parts.database, member.task, cause);
    const evidence = failure.evidence.lines ?? [];
    for (const line of evidence) this.#log.add('evidence', line, { serviceId });
    this.#log.add('end', `${name}: ${failure.message}`, { serviceId, level: 'ERROR', error: failure });
    const changed = sentenceOf(failure.changedSinceSuccess ?? null);
    if (changed !== null) this.#log.add('end', `${name}: ${changed}`, { serviceId });
    const left = await this.#undo(member);
    member.phase = phase;
    const whole = left === null ? failure : { ...failure, message: `${failure.message.replace(/\.$/, '')}. ${left}` };
    await this.#journal.setPhase(serviceId, phase, { failure: whole, lines: await this.#log.take() });
  }

  #cause({ callId }: TaskState): string {
    if (this.#input.cancel.aborted) return '';
    // Failures from before this process resumed the deployment are known from the phases.
    const failed = this.#firstFailed.get(callId) ?? this.#tasks.find((one) => one.callId === callId && isFailed(one))?.task.name;
    return failed === undefined ? '' : `, as ${failed} failed`;
  }

  async #cancelTask(member: TaskState): Promise<void> {
    if (member.phase === 'WORKING') await this.#enter(member, 'CANCELING');
    await this.#undo(member);
    await this.#endCanceled(member);
  }

  async #endCanceled(member: TaskState): Promise<void> {
    const { serviceId, name } = member.task;
    this.#log.add('end', `${name}: canceled${this.#cause(member)}.`, { serviceId, level: 'WARNING' });
    await this.#log.flush();
    await this.#enter(member, 'CANCELED');
  }

  /** Undoes what was started, unless the routes have already changed. See `takeBack`. */
  async #undo(member: TaskState): Promise<string | null> {
    const { deployment, parts } = this.#input;
    const { config, serviceType } = member.task;
    const isUp = deployment.action === 'DEPLOY' || deployment.action === 'RESTART';
    const rollsOut = isUp || parts.kinds.ofService(serviceType, config).runsWhenTakenDown;
    if (!rollsOut || member.phase === 'BUILDING' || (await this.#isRouted(member))) return null;
    return takeBack(member, { ...this.#input, journal: this.#journal, log: this.#log, wait: this.#wait });
  }

  /** Returns whether the deployment has already changed what should run. From there on it only goes forward. */
  async #isRouted(member: TaskState): Promise<boolean> {
    if (isOnlyForward(this.#input.parts.kinds, member)) return true;
    const [runtime] = await this.#input.parts.database.many(readRuntimes, [[member.task.serviceId]]);
    return runtime?.rollout === member.task.rollout;
  }

  async #cancelWaiting(member: TaskState, signal: AbortSignal): Promise<boolean> {
    if (!signal.aborted) return false;
    // CANCELING: the cancel preceded a restart of Davit. Steps begun before are undone where possible. The run of a job
    // is awaited nevertheless, unless the cancel is forced.
    const mustBeAwaited = isAwaited(this.#input.parts.kinds, member) && !this.#input.force.aborted;
    const interrupted = member.phase === 'CANCELING' && !mustBeAwaited && !(await this.#isRouted(member));
    // BUILDING: the image is built, or was being built. Nothing of the service is on the cluster.
    if (member.phase !== 'WAITING' && member.phase !== 'BUILDING' && !interrupted) return false;
    if (interrupted) await this.#undo(member);
    await this.#endCanceled(member);
    return true;
  }

  /** Cancels the unfinished services of a call that has a failure. `stage`: the services among which the failure is. */
  async #cancelRest(stage: readonly TaskState[]): Promise<void> {
    for (const member of this.#tasks) {
      if (!isFinished(member.phase) && this.#hasFailed(member.callId, stage)) await this.#endCanceled(member);
    }
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof DriverError && error.code === 'SECRETS_TOO_LARGE';
}
