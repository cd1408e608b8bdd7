import { isAppError, redactor } from '@davit/base';
import { ClusterAway } from '../clusters/drivers.ts';
import type { FailureRecord, ReleaseConfig } from '../model.ts';
import type { EngineParts } from '../parts.ts';
import { eventOf, planStages, type PlannedStage, type StepName } from '../plan/plan.ts';
import { isFinished, type Phase } from '../states.ts';
import { steps, undoRollout, type StepContext, type Task } from '../steps/index.ts';
import * as store from '../store/journal.ts';
import { readRuntimes, type RuntimeRow } from '../store/requests.ts';
import { secretIds } from '../workload.ts';
import { collectImages } from '../housekeeping/built-images.ts';
import { crashPoint } from './crash-point.ts';
import { DeploymentLog } from './deployment-log.ts';
import { toFailure } from './failure.ts';
import { Journal, LeaseLost } from './journal.ts';
import type { Semaphore } from './semaphore.ts';
import { ClusterWait, type Waiting } from './cluster-wait.ts';
import { Canceled, runStep } from './step-run.ts';
import { journalRows, positionOf, retires, type TaskState } from './task-state.ts';
import { parallel } from './parallel.ts';

export interface DeploymentRunInput {
  readonly parts: EngineParts;
  readonly deployment: store.ClaimedDeployment;
  /** Whether another runner, or this one before a restart, had begun it. */
  readonly resumed: boolean;
  readonly builds: Semaphore;
  readonly abandon: AbortSignal;
  readonly cancel: AbortSignal;
  /** The same with force: also what is waited for otherwise is interrupted. */
  readonly force: AbortSignal;
}

// Of one stage at a time, as the public documentation of this API has it.
const parallelTasks = 7;

/** One deployment from claim to end. What it knows of earlier attempts is in the journal. */
export class DeploymentRun {
  readonly #input: DeploymentRunInput;
  readonly #journal: Journal;
  readonly #log: DeploymentLog;
  readonly #tasks = new Map<string, TaskState>();
  /** Former instances that drain and stop while the next stage goes on. */
  readonly #tails: Promise<void>[] = [];
  readonly #wait: ClusterWait;
  /** Aborts with the run that has to be given up in the middle, so that nothing of it goes on beside the run that takes it up. */
  readonly #abandon = new AbortController();

  constructor(input: DeploymentRunInput) {
    this.#input = { ...input, abandon: AbortSignal.any([input.abandon, this.#abandon.signal]) };
    const { deployment, parts } = input;
    this.#journal = new Journal(parts.database, deployment.id, deployment.fence);
    this.#log = new DeploymentLog(parts.database, deployment.id, (text) => text);
    this.#wait = new ClusterWait({ ...input, journal: this.#journal, log: this.#log });
  }

  /**
   * Resolves when the deployment has ended and that is recorded; rejects with LeaseLost, when it was abandoned, and when it cannot
   * be recorded because the database is away. Then nothing of it is under way any more.
   */
  async execute(): Promise<void> {
    try {
      const stages = await this.#prepare();
      for (const stage of stages) {
        const members = stage.tasks.flatMap((task) => this.#tasks.get(task.serviceId) ?? []);
        await this.#buildStage(members);
        await this.#deployStage(members);
      }
      await Promise.all(this.#tails);
      await this.#finish();
    } finally {
      this.#abandon.abort();
      await Promise.allSettled(this.#tails);
    }
  }

  /** Why it was given up in the middle, where that was because its cluster is away: it is to be taken up when that is back. */
  get waiting(): Waiting | null {
    return this.#wait.waiting;
  }

  /** Does this for several services at once. When one has to give up, all do. */
  #forEach(members: readonly TaskState[], action: (member: TaskState) => Promise<void>): Promise<void> {
    return parallel(parallelTasks, members, async (member) => {
      try {
        await action(member);
      } catch (error) {
        this.#abandon.abort();
        throw error;
      }
    });
  }

  async #prepare(): Promise<PlannedStage[]> {
    const { deployment, parts, resumed } = this.#input;
    await parts.clusters.know(deployment.driver);
    await this.#journal.writeAny(store.beginServices, []);
    const rows = await parts.database.many(store.readTasks, [deployment.id]);
    const ids = rows.map((row) => row.service_id);
    const runtimes = new Map((await parts.database.many(readRuntimes, [ids])).map((row) => [row.service_id, row]));
    const tasks = await Promise.all(rows.map((row) => this.#toTask(row, runtimes.get(row.service_id) ?? null)));
    const journal = Map.groupBy(await parts.database.many(store.readSteps, [deployment.id]), (row) => row.service_id);
    const stages = planStages(
      deployment.action,
      tasks.map((task, index) => ({
        serviceId: task.serviceId,
        stageName: task.stage.name,
        stagePosition: task.stage.position,
        config: task.config,
        serviceType: task.serviceType,
        event: task.forcedEvent,
        // From the journal where there is one: a build or pull that is done must stay in the plan that is resumed.
        hasImage: journal.has(task.serviceId)
          ? !(journal.get(task.serviceId) ?? []).some((step) => step.name === 'build' || step.name === 'pull')
          : rows[index]?.image_id !== null && rows[index]?.image_id !== undefined,
      })),
    );
    for (const stage of stages) {
      for (const plan of stage.tasks) {
        const task = tasks.find((one) => one.serviceId === plan.serviceId);
        const row = rows.find((one) => one.service_id === plan.serviceId);
        if (task !== undefined && row !== undefined) {
          this.#tasks.set(plan.serviceId, {
            task,
            plan,
            phase: row.phase,
            done: this.#resume(task, journal.get(task.serviceId) ?? []),
          });
        }
      }
    }
    await this.#journal.insertSteps([...this.#tasks.values()].flatMap(journalRows));
    await this.#setRedaction(tasks);
    if (resumed)
      this.#log.add('resume', 'Davit had stopped in the middle of this deployment and goes on with it.', { level: 'WARNING' });
    return stages;
  }

  async #toTask(row: store.TaskRow, former: RuntimeRow | null): Promise<Task> {
    const { action } = this.#input.deployment;
    // What a job runs when it is taken down is what was deployed, also for a runner that comes when that is forgotten already.
    const restart = action === 'RESTART' || (action !== 'DEPLOY' && former?.config?.job !== undefined);
    const config = row.config ?? (restart ? (former?.config ?? null) : null);
    const releaseId = row.release_id ?? (restart ? (former?.release_id ?? null) : null);
    if (restart && row.release_id === null && releaseId !== null) {
      await this.#journal.writeAny(store.adoptRelease, [row.service_id, releaseId]);
    }
    return {
      serviceId: row.service_id,
      serviceType: row.service_type,
      name: row.service_name,
      stage: { name: row.stage_name, position: row.stage_position },
      driver: action === 'DEPLOY' ? this.#input.deployment.driver : (former?.driver ?? this.#input.deployment.driver),
      former,
      releaseId,
      config,
      configHash: row.config_hash ?? (restart ? (former?.config_hash ?? null) : null),
      commit: row.commit ?? (restart ? (former?.commit ?? null) : null),
      imageName: row.image_name ?? (restart ? (former?.image_name ?? null) : null),
      imageId: row.image_id ?? (restart ? (former?.image_id ?? null) : null),
      rollout: row.rollout,
      kept: false,
      instances: [],
      count: null,
      event: eventOf(action, config?.job, row.event),
      forcedEvent: row.event,
      launchedAt: null,
    };
  }

  /** Puts back what recorded steps had found out. */
  #resume(task: Task, rows: readonly store.StepRow[]): Set<StepName> {
    const done = new Set<StepName>();
    for (const row of rows) {
      const { name } = row;
      if (row.status === 'SKIPPED') done.add(name);
      if (row.status !== 'DONE') continue;
      done.add(name);
      const output = row.output ?? {};
      steps[name].resume?.(task, output);
      for (const skipped of output.skip ?? []) done.add(skipped);
    }
    return done;
  }

  async #setRedaction(tasks: readonly Task[]): Promise<void> {
    // A configuration that is destroyed runs as it was deployed.
    const configs = tasks.flatMap(({ config, former }) => [config, former?.config ?? null]);
    const ids = configs.flatMap((config) => (config === null ? [] : secretIds(config)));
    const credentials = await Promise.all(configs.map((config) => this.#credentialsOf(config)));
    const values = ids.length === 0 ? [] : (await this.#input.parts.hooks.secrets([...new Set(ids)])).values();
    this.#log.redact = redactor([...values, ...credentials.flatMap((one) => one?.password ?? [])]);
  }

  /** What fetching the source or the image needs; it must not get into a log. */
  async #credentialsOf(config: ReleaseConfig | null): Promise<{ readonly password: string } | null | undefined> {
    const { hooks } = this.#input.parts;
    if (config?.source.type === 'IMAGE' && config.source.registryId !== null) {
      return hooks.registryCredentials(config.source.registryId);
    }
    const { source } = config ?? {};
    const gitTokenId = source?.type === 'TERRAFORM' ? source.git.gitTokenId : source?.type === 'GIT' ? source.gitTokenId : null;
    return gitTokenId === null ? null : hooks.gitCredentials(gitTokenId);
  }

  async #buildStage(members: readonly TaskState[]): Promise<void> {
    const building = members.filter(
      (member) => !isFinished(member.phase) && member.plan.build.some((name) => !member.done.has(name)),
    );
    if (building.length === 0) return;
    // A failed build ends the others of the stage: nothing of it will be deployed.
    const stageFailed = new AbortController();
    await this.#forEach(building, async (member) => {
      if (await this.#cancelWaiting(member, stageFailed.signal)) return;
      await this.#enter(member, 'BUILDING');
      const cancel = AbortSignal.any([this.#input.cancel, stageFailed.signal]);
      const failure = await this.#guard(member, () =>
        this.#input.builds.use(() => this.#runSteps(member, member.plan.build, cancel)),
      );
      if (failure === null) return;
      stageFailed.abort();
      await this.#fail(member, 'BUILD_FAILED', failure);
    });
    if (members.some((member) => member.phase === 'BUILD_FAILED')) await this.#cancelRest();
  }

  async #deployStage(members: readonly TaskState[]): Promise<void> {
    for (const member of members) {
      // Left by a process that ended between the success and the clean-up behind it.
      if (member.phase === 'SUCCEEDED' && retires(member) && !member.done.has('retire')) this.#follow(this.#retire(member));
    }
    const open = members.filter((member) => !isFinished(member.phase));
    await this.#forEach(open, async (member) => {
      if (this.#anyFailed(members) || (await this.#cancelWaiting(member, this.#input.cancel))) return;
      await this.#enter(member, 'WORKING');
      const foreground = retires(member) ? member.plan.deploy.slice(0, -1) : member.plan.deploy;
      const failure = await this.#guard(member, () => this.#runSteps(member, foreground, this.#input.cancel));
      if (failure !== null) return this.#fail(member, 'FAILED', failure);
      if (isFinished(member.phase)) return;
      await this.#succeed(member);
      if (retires(member)) this.#follow(this.#retire(member));
    });
    if (this.#anyFailed(members)) await this.#cancelRest();
  }

  #follow(tail: Promise<void>): void {
    this.#tails.push(tail);
    // Waited for at the end only: until then nobody would have heard of its failure.
    tail.catch(() => this.#abandon.abort());
  }

  #anyFailed(members: readonly TaskState[]): boolean {
    return members.some((member) => member.phase === 'FAILED' || member.phase === 'BUILD_FAILED');
  }

  /** A former instance that does not go is the keeper's to remove; the new release serves already. */
  async #retire(member: TaskState): Promise<void> {
    const failure = await this.#guard(member, () => this.#runSteps(member, ['retire'], this.#input.cancel));
    if (failure !== null) {
      this.#log.add('retire', `${failure.message}. Davit removes the former instances later.`, {
        serviceId: member.task.serviceId,
        level: 'WARNING',
      });
    }
  }

  async #runSteps(member: TaskState, names: readonly StepName[], cancel: AbortSignal): Promise<void> {
    const { parts, deployment, abandon } = this.#input;
    for (const name of names) {
      const position = positionOf(member.plan, name);
      if (member.done.has(name)) continue;
      const skipped = await runStep({
        parts,
        deployment,
        journal: this.#journal,
        log: this.#log,
        task: member.task,
        step: steps[name],
        position,
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
   * The failure of an action, null when it succeeded or was canceled (then the task is canceled). Fencing errors pass through, and
   * so does a database that is away: that is nothing that the user did, and the deployment goes on when it is back.
   */
  async #guard(member: TaskState, action: () => Promise<void>): Promise<FailureRecord | null> {
    try {
      await action();
      return null;
    } catch (error) {
      if (error instanceof LeaseLost || this.#input.abandon.aborted || isDatabaseAway(error)) throw error;
      if (error instanceof Canceled) {
        await this.#cancelTask(member);
        return null;
      }
      if (error instanceof ClusterAway && (await this.#wait.begin(error, member.task.serviceId))) throw error;
      const reference = `${this.#input.deployment.id}/${member.task.serviceId}`;
      const failure = toFailure(error, reference);
      if (failure.code === 'INTERNAL')
        this.#input.parts.log.error({ err: error, reference }, 'a step failed in an unexpected way');
      return this.#log.redacted(failure);
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
    await this.#log.flush();
    member.phase = 'SUCCEEDED';
    await this.#journal.transaction(async (tx) => {
      await this.#journal.setPhase(serviceId, 'SUCCEEDED', null, tx);
      if (deployment.action === 'DELETE') await parts.hooks.serviceDeleted(tx, serviceId);
      if (deployment.action === 'DELETE' || deployment.action === 'UNINSTALL') {
        await tx.run(store.removeReleases, [serviceId]);
        await tx.run(store.removeServiceLog, [serviceId]);
      }
    });
  }

  async #fail(member: TaskState, phase: 'BUILD_FAILED' | 'FAILED', failure: FailureRecord): Promise<void> {
    const { serviceId, name } = member.task;
    const evidence = failure.evidence.lines ?? [];
    for (const line of evidence) this.#log.add('evidence', line, { serviceId });
    this.#log.add('end', `${name}: ${failure.message}`, { serviceId, level: 'ERROR', error: failure });
    await this.#undo(member);
    await this.#log.flush();
    member.phase = phase;
    await this.#journal.setPhase(serviceId, phase, failure);
  }

  async #cancelTask(member: TaskState): Promise<void> {
    if (member.phase === 'WORKING') await this.#enter(member, 'CANCELING');
    await this.#undo(member);
    this.#log.add('end', `${member.task.name}: canceled.`, { serviceId: member.task.serviceId, level: 'WARNING' });
    await this.#log.flush();
    await this.#enter(member, 'CANCELED');
  }

  /** Takes back what had been started, unless the routes have changed already. */
  async #undo(member: TaskState): Promise<void> {
    const { deployment, abandon, parts } = this.#input;
    const isJob = member.task.config?.job !== undefined;
    const rollsOut = deployment.action === 'DEPLOY' || deployment.action === 'RESTART' || isJob;
    if (!rollsOut || member.phase === 'BUILDING' || (await this.#isRouted(member))) return;
    await crashPoint('undo:before');
    const call = {
      signal: abandon,
      log: (message: string) => this.#log.add('undo', message, { serviceId: member.task.serviceId }),
    };
    const context: StepContext = { parts, deployment, task: member.task, journal: this.#journal, call };
    try {
      await undoRollout(context);
    } catch (error) {
      if (error instanceof LeaseLost || abandon.aborted) throw error;
      // The failure that led here is what the user must see; what is left over is removed by the keeper.
      this.#log.add('undo', `Cleaning up did not work at once: ${error instanceof Error ? error.message : String(error)}`, {
        serviceId: member.task.serviceId,
        level: 'WARNING',
      });
    }
    await crashPoint('undo:after');
  }

  /** Whether the new instances are what should run by now: from there on only forward. */
  async #isRouted(member: TaskState): Promise<boolean> {
    if (member.done.has('route')) return true;
    const [runtime] = await this.#input.parts.database.many(readRuntimes, [[member.task.serviceId]]);
    return runtime?.rollout === member.task.rollout;
  }

  async #cancelWaiting(member: TaskState, signal: AbortSignal): Promise<boolean> {
    if (!signal.aborted) return false;
    // CANCELING: the cancel came before a restart of Davit; what had begun then is taken back, unless it cannot be.
    // A run of a job is waited for all the same.
    const isAwaited = member.done.has('launch') && !this.#input.force.aborted;
    const interrupted = member.phase === 'CANCELING' && !isAwaited && !(await this.#isRouted(member));
    if (member.phase !== 'WAITING' && !interrupted) return false;
    if (interrupted) await this.#undo(member);
    await this.#enter(member, 'CANCELED');
    return true;
  }

  /** After a failure nothing that has not begun will begin. */
  async #cancelRest(): Promise<void> {
    for (const member of this.#tasks.values()) {
      if (isFinished(member.phase)) continue;
      await this.#enter(member, 'CANCELED');
    }
  }

  async #finish(): Promise<void> {
    const { deployment, parts } = this.#input;
    const phases = [...this.#tasks.values()].map((member) => member.phase);
    const failed = phases.some((phase) => phase === 'FAILED' || phase === 'BUILD_FAILED');
    const canceled = this.#input.cancel.aborted && phases.some((phase) => phase === 'CANCELED');
    const status = failed ? 'FAILED' : canceled ? 'CANCELED' : 'SUCCEEDED';
    const removesEnvironment = deployment.action === 'DELETE' && deployment.whole_environment && status === 'SUCCEEDED';
    if (removesEnvironment) await this.#removeEnvironment(deployment.driver);
    if (deployment.action === 'DEPLOY') {
      const done = [...this.#tasks.values()].filter(({ phase }) => phase === 'SUCCEEDED').map(({ task }) => task.serviceId);
      await collectImages(
        parts,
        deployment.driver,
        { services: done },
        {
          signal: this.#input.abandon,
          log: (message) => this.#log.add('collect', message),
        },
      );
    }
    await this.#log.flush();
    await crashPoint('finish:before');
    await this.#journal.transaction(async (tx) => {
      await this.#journal.write(store.finishDeployment, [status], tx);
      await parts.hooks.deploymentEnded(tx, deployment.id, deployment.action, status);
      if (!removesEnvironment) return;
      await parts.hooks.environmentDeleted(tx, deployment.environment_id);
      await tx.run(store.removeDeployments, [deployment.environment_id]);
    });
    await crashPoint('finish:after');
  }

  /** What a cluster has of the environment beside its services. One that stays away keeps it, and the log says so. */
  async #removeEnvironment(driver: string): Promise<void> {
    const { deployment, parts } = this.#input;
    const call = { signal: this.#input.abandon, log: (message: string) => this.#log.add('remove', message) };
    try {
      await parts.drivers[driver]?.cluster.removeEnvironment(deployment.environment_id, call);
    } catch (error) {
      if (!(error instanceof ClusterAway) || (await this.#wait.begin(error))) throw error;
      this.#log.add('remove', `${error.message}. What it has of the environment stays there.`, { level: 'WARNING' });
    }
  }
}

function isDatabaseAway(error: unknown): boolean {
  return isAppError(error) && error.code === 'DATABASE_UNAVAILABLE';
}
