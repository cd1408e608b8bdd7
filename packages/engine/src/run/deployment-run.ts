import { inParallel, isAppError, redactor, type Redactor } from '@davit/base';
import { DriverError } from '@davit/drivers';
import type { ExecutingParts } from '../kinds/kinds.ts';
import { isDatabaseUnreachable } from '../shared/retry-policy.ts';
import type { StepName } from '../plan/plan.ts';
import { isFinished } from '../states.ts';
import type { ClaimedDeployment } from '../store/journal.ts';
import { DeploymentLog } from './deployment-log.ts';
import { Journal, LeaseLost } from './journal.ts';
import type { Semaphore } from '../shared/semaphore.ts';
import { ClusterWait, type Waiting } from './cluster-wait.ts';
import { inTurn } from './in-turn.ts';
import { redactorOrBlind } from '../shared/readable.ts';
import { DeploymentEnd } from './deployment-end.ts';
import { isFailed, prepareTasks, valuesToHide, type TaskState } from './prepare.ts';
import { stepBehind } from './progress.ts';
import { TaskRunner } from './task-runner.ts';

export interface DeploymentRunInput {
  readonly parts: ExecutingParts;
  readonly deployment: ClaimedDeployment;
  /** Whether another runner, or this one before a restart, had begun the deployment. */
  readonly resumed: boolean;
  /** Slots of this runner for steps that only ask other hosts, and for all other steps of builds. */
  readonly lookups: Semaphore;
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
  /** Clean-ups during which former instances drain and stop while the next stage continues. */
  readonly #tails: Promise<void>[] = [];
  readonly #wait: ClusterWait;
  readonly #end: DeploymentEnd;
  readonly #runner: TaskRunner;
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
    const shared = { ...this.#input, journal: this.#journal, log: this.#log, wait: this.#wait };
    this.#end = new DeploymentEnd(shared);
    this.#runner = new TaskRunner({ ...shared, end: this.#end });
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
    this.#runner.resume(this.#tasks);
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
      if (await this.#runner.cancelWaiting(member, callFailed.signal)) return;
      const cancel = AbortSignal.any([this.#input.cancel, callFailed.signal]);
      const failure = await this.#runner.guard(member, () => this.#build(member, cancel));
      if (failure === null) return;
      this.#runner.noteFailed(member);
      callFailed.abort();
      await this.#runner.fail(member, 'BUILD_FAILED', failure);
    });
    await this.#cancelRest(members);
  }

  /** Runs the steps of a build. What only asks other hosts waits for no build of others. */
  async #build(member: TaskState, cancel: AbortSignal): Promise<void> {
    const { lookups, builds, abandon, parts } = this.#input;
    const isLookup = (name: StepName): boolean => parts.kinds.step(name).isLookup === true;
    const asking = member.plan.build.filter(isLookup);
    const working = member.plan.build.filter((name) => !isLookup(name));
    const ask = async (): Promise<void> => {
      await this.#runner.enter(member, 'BUILDING', asking);
      await this.#runner.run(member, asking, cancel);
    };
    // An image that is only pulled needs no git host, so it does not wait for those of other services.
    if (asking.length === 0) await ask();
    else await inTurn(lookups, { cancel, abandon }, ask);
    if (working.every((name) => member.done.has(name))) return;
    await inTurn(builds, { cancel, abandon }, () => this.#runner.run(member, working, cancel));
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
      if (this.#hasFailed(member.callId, members) || (await this.#runner.cancelWaiting(member, this.#input.cancel))) return;
      const behind = stepBehind(kinds, member);
      const foreground = member.plan.deploy.filter((name) => name !== behind);
      await this.#runner.enter(member, 'WORKING', foreground);
      const failure = await this.#runner.guard(member, () => this.#runner.run(member, foreground, this.#input.cancel));
      if (failure !== null) return this.#runner.fail(member, 'FAILED', failure);
      if (isFinished(member.phase)) return;
      await this.#runner.succeed(member, behind === undefined ? [] : [behind]);
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

  /**
   * Removes the former instances. If an instance cannot be removed, the keeper removes it later; the new release is
   * already serving.
   */
  async #runBehind(member: TaskState, name: StepName): Promise<void> {
    const failure = await this.#runner.guard(member, () => this.#runner.run(member, [name], this.#input.cancel));
    if (failure !== null) {
      this.#log.add(name, `${failure.message}. Davit removes the former instances later.`, {
        serviceId: member.task.serviceId,
        level: 'WARNING',
      });
    }
  }

  /** Cancels the unfinished services of a call that has a failure. `stage`: the services among which the failure is. */
  async #cancelRest(stage: readonly TaskState[]): Promise<void> {
    for (const member of this.#tasks) {
      if (!isFinished(member.phase) && this.#hasFailed(member.callId, stage)) await this.#runner.endCanceled(member);
    }
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof DriverError && error.code === 'SECRETS_TOO_LARGE';
}
