import { randomUUID } from 'node:crypto';
import { Loop, messageOf, retry } from '@davit/base';
import { Leadership } from '@davit/db';
import { DriverError, type CallContext, type Workload } from '@davit/drivers';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import { driversOf, isAwaited, isWaitedOut, lookEveryMilliseconds, type EngineParts } from '../shared/parts.ts';
import { isDatabaseUnreachable, isTransient, retryPolicy } from '../shared/retry-policy.ts';
import { deployedWorkload } from '../workload/deployed-workload.ts';
import { startWithImage } from '../workload/registry-image.ts';
import { toFailure } from '../shared/failure.ts';
import { readableSecrets, redactorOrBlind } from '../shared/readable.ts';
import * as store from '../store/jobs.ts';
import { writeServiceLine } from '../output/service-line.ts';
import { secretIds, terminationGrace } from '../workload/workload.ts';
import { toAttempt } from './attempt.ts';
import { ClusterRuns } from './cluster-runs.ts';
import { isTimeZone, nextRun } from './cron.ts';
import { isEndKnown } from './known-end.ts';
import { publishOutputs } from './outputs.ts';
import { awaitRun } from './run.ts';
import { StuckSchedules } from './stuck-schedules.ts';
import { createRunTurns, type RunTurns } from './turns.ts';

/*
 * Runs cron jobs at their times. One process of an installation does so: the one that holds a database lock, which
 * PostgreSQL releases when the process dies. The next process finds the open runs by the label of their instances and
 * awaits them; it starts none of them a second time.
 *
 * - A schedule that was due while no process was running is run once, however often it was due.
 * - A schedule that becomes due while its job still runs is skipped.
 * - A cluster that starts runs by itself follows its own rules. Its runs are recorded (`ClusterRuns`) and awaited here.
 *
 * Any number of runs is awaited at once, because a run may take a day. Only operations that load the cluster wait for
 * their turn (`turns.ts`). A problem with one schedule does not affect the others.
 */

const rememberedRuns = 20;
// Seconds beyond the grace period of an instance.
const retireSeconds = 120;

export class Scheduler {
  readonly #parts: EngineParts;
  readonly #leadership: Leadership;
  readonly #clusterRuns: ClusterRuns;
  readonly #stuck = new StuckSchedules();
  /** The turns, by cluster. */
  readonly #turns = new Map<string, RunTurns>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #loop: Loop;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#leadership = new Leadership({ connectionString: parts.connectionString, name: 'job scheduler' });
    this.#clusterRuns = new ClusterRuns(parts, (run) => this.#running.has(run));
    this.#loop = new Loop({
      look: () => this.#look(),
      everyMilliseconds: lookEveryMilliseconds(parts.settings),
      onError: (error) => parts.log.warn({ err: error }, 'the schedules of jobs could not be read'),
    });
  }

  start(): void {
    this.#loop.start();
    void this.#loop.wake();
  }

  /** Stops at once. The instances keep running, and the next process that schedules awaits their end. */
  async stop(): Promise<void> {
    this.#leadership.leave();
    await this.#loop.stop();
    await this.#clusterRuns.stop();
    await Promise.all(this.#running.values());
    await this.#leadership.release();
  }

  async #look(): Promise<void> {
    const term = await this.#leadership.take();
    if (term === null) return;
    this.#clusterRuns.look(term);
    for (const driver of this.#turns.keys()) if (this.#parts.drivers[driver] === undefined) this.#turns.delete(driver);
    // The open runs come first, before any schedule can fail.
    await this.#beginOpen(term);
    if (await this.#claimDue()) await this.#beginOpen(term);
  }

  async #beginOpen(term: AbortSignal): Promise<void> {
    for (const run of await this.#parts.database.many(store.openRuns, [[...this.#running.keys()]])) this.#begin(run, term);
  }

  /** Claims the due schedules. Returns whether any could be advanced. */
  async #claimDue(): Promise<boolean> {
    let isAny = false;
    for (const due of await this.#parts.database.many(store.dueSchedules, [this.#stuck.releases])) {
      try {
        await this.#claim(due);
        this.#stuck.forget(due.release_id);
        isAny = true;
      } catch (error) {
        if (isDatabaseUnreachable(error)) throw error;
        await this.#noteStuck(due, error);
      }
    }
    return isAny;
  }

  /** Logs a schedule that could not be advanced. It stays due and is retried until the problem is gone. */
  async #noteStuck(due: store.DueRow, error: unknown): Promise<void> {
    if (!this.#stuck.note(due.release_id)) return;
    const { service_id: service, release_id: release } = due;
    this.#parts.log.warn({ err: error, service, release }, 'the next run of a job could not be scheduled');
    const reason = error instanceof Uncomputable ? error.message : toFailure(error, service).message;
    const hint = 'It starts when that is resolved, or when the job is deployed with another schedule.';
    try {
      await this.#logToService(due, `The run of ${due.next_at} has not started: ${reason} ${hint}`);
    } catch (failure) {
      if (!isDatabaseUnreachable(failure)) return;
      // Forgotten, so that it is logged when the database is reachable again.
      this.#stuck.forget(release);
      throw failure;
    }
  }

  /**
   * Advances a schedule and records the run that is due, in one transaction: no run is lost, and none is recorded
   * twice.
   */
  async #claim(due: store.DueRow): Promise<void> {
    const schedule = due.config.job?.schedule ?? null;
    const next = nextOf(due);
    const begun = await this.#parts.database.transaction(async (tx) => {
      const moved =
        next === null
          ? await tx.maybe(store.endSchedule, [due.service_id])
          : await tx.maybe(store.advanceSchedule, [due.service_id, next]);
      if (moved === undefined || schedule === null) return true;
      const run = await tx.maybe(store.insertRun, [randomUUID(), due.service_id, due.release_id, due.next_at]);
      await tx.run(store.trimRuns, [due.service_id, rememberedRuns]);
      return run !== undefined;
    });
    if (!begun) await this.#logToService(due, `The run of ${due.next_at} is skipped: the previous run has not ended.`);
  }

  #begin(run: store.RunRow, signal: AbortSignal): void {
    if (this.#running.has(run.id) || this.#parts.drivers[run.driver] === undefined || isAwaited(this.#parts, run.driver)) return;
    const done = this.#execute(run, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#parts.log.warn({ err: error, run: run.id }, 'a run of a job was interrupted; resuming it');
      })
      .finally(() => {
        this.#running.delete(run.id);
        if (!run.by_cluster || signal.aborted) return;
        // The next run of the job may be waiting to be recorded.
        this.#clusterRuns.lookSoon(run.driver);
        void this.#loop.wake();
      });
    this.#running.set(run.id, done);
  }

  async #execute(run: store.RunRow, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { database, log } = this.#parts;
    const call: CallContext = { signal, log: (line) => log.info({ service: run.service_id, run: run.id }, line) };
    if (isLaunched(run)) await database.run(store.setJobStatus, [run.service_id, 'RUNNING']);
    const failure = await this.#attempt(run, call);
    signal.throwIfAborted();
    const ended = await database.maybe(store.endRun, [
      run.id,
      failure === null ? 'SUCCEEDED' : 'FAILED',
      failure === null ? null : JSON.stringify(failure),
    ]);
    if (ended !== undefined && ended.status !== 'CANCELED') {
      await database.run(store.setJobStatus, [run.service_id, failure === null ? 'COMPLETED' : 'ERROR']);
      if (failure !== null)
        await this.#logToService(run, `The run of ${run.due_at} failed (${failure.code}): ${failure.message}`);
    }
    const status = ended?.status ?? (failure === null ? 'SUCCEEDED' : 'FAILED');
    // A run that its cluster continues is removed when it has ended.
    if (run.by_cluster && !isEndKnown({ status, code: failure?.code ?? null })) return;
    // If a run that the cluster started has ended, only the container that holds its folders is left.
    const isOver = run.by_cluster && failure?.code !== 'JOB_TIMEOUT';
    await this.#turnsAt(run).changes.use(
      () => this.#retire(run, isOver ? 0 : terminationGrace(run.config, this.#parts.settings), call),
      signal,
    );
  }

  /** Removes the instances of a run. A removal that takes longer is left to the keeper. */
  async #retire(run: store.RunRow, graceSeconds: number, call: CallContext): Promise<void> {
    const { cluster } = driversOf(this.#parts, run.driver);
    const limit = AbortSignal.timeout((graceSeconds + retireSeconds) * 1_000);
    const within = { ...call, signal: AbortSignal.any([call.signal, limit]) };
    await cluster.retire({ service: run.service_id, rollout: run.id }, graceSeconds, within);
  }

  #turnsAt({ driver }: store.RunRow): RunTurns {
    const turns = this.#turns.get(driver) ?? createRunTurns();
    this.#turns.set(driver, turns);
    return turns;
  }

  /**
   * Executes a run. Returns null on success, otherwise the failure. Throws if the call was aborted, or if the cluster
   * or the database is unreachable: the run is then resumed later.
   */
  async #attempt(run: store.RunRow, call: CallContext): Promise<ReturnType<typeof toFailure> | null> {
    let launchedAt = run.launched_at;
    try {
      await retry(
        {
          ...retryPolicy(this.#parts.settings),
          signal: call.signal,
          isRetryable: (error) => !call.signal.aborted && isTransient(error),
        },
        async () => {
          if (run.by_cluster) await this.#awaitStarted(run, call);
          else launchedAt ??= await this.#launch(run, call);
          await this.#awaitEnd(run, launchedAt, call);
        },
      );
      return null;
    } catch (error) {
      call.signal.throwIfAborted();
      if (isDatabaseUnreachable(error) || (error instanceof ClusterUnreachable && !isWaitedOut(this.#parts, run.driver)))
        throw error;
      const failure = toFailure(error, run.id);
      if (failure.code === 'INTERNAL') this.#parts.log.error({ err: error, reference: run.id }, 'a run of a job failed');
      const redact = await redactorOrBlind(await readableSecrets(this.#parts.hooks, secretIds(this.#parts.kinds, run.config)));
      return { ...failure, message: redact(failure.message) };
    }
  }

  /** Starts a run when it is its turn. Returns the time of the start. */
  #launch(run: store.RunRow, call: CallContext): Promise<string | null> {
    const parts = this.#parts;
    const launch = async (): Promise<string | null> => {
      // If the job was stopped while it waited for its turn, there was nothing to end.
      if ((await parts.database.run(store.setJobStatus, [run.service_id, 'RUNNING'])) === 0) throw stopped(run);
      // If this is repeated, the instance is found by its label.
      const first = await this.#workload(run, 0);
      const { source, name } = run.config;
      const image = { driver: run.driver, serviceName: name, source, imageName: run.image_name };
      await startWithImage(parts, image, call, () => driversOf(parts, run.driver).cluster.start(first, call));
      return (await parts.database.maybe(store.markLaunched, [run.id]))?.launched_at ?? null;
    };
    return this.#turnsAt(run).changes.use(launch, call.signal);
  }

  async #awaitEnd(run: store.RunRow, launchedAt: string | null, call: CallContext): Promise<void> {
    const turns = this.#turnsAt(run);
    const { service_id: id, driver, config } = run;
    const instance = await awaitRun({
      parts: this.#parts,
      driver,
      service: { id, name: config.name },
      rollout: run.id,
      config,
      // The cluster's own limit counts from the start of the run by the clock of the cluster.
      launchedAt: run.by_cluster ? run.created_at : launchedAt,
      ...(run.by_cluster ? { begunAt: run.launched_at } : { workload: (attempt: number) => this.#workload(run, attempt) }),
      turns,
      call,
    });
    const ended = { parts: this.#parts, driver, serviceId: id, instance, signal: call.signal };
    const reported = await turns.reads.use(() => publishOutputs(ended), call.signal);
    if (reported === null) return;
    call.log(reported);
    if (instance.foldersLost === true) await this.#logToService(run, `The run of ${run.due_at}: ${reported}`);
  }

  /**
   * Waits until the cluster has started the run. A missing image is thereby reported at once, and not only at the time
   * limit of the run.
   */
  async #awaitStarted(run: store.RunRow, call: CallContext): Promise<void> {
    const { image_id } = run;
    if (image_id === null) throw new Error(`${run.config.name} has no image`);
    const workload = await deployedWorkload(this.#parts, { ...run, image_id, rollout: run.id }, false);
    await driversOf(this.#parts, run.driver).cluster.schedules?.awaitStarted(workload, call);
  }

  async #workload(run: store.RunRow, attempt: number): Promise<Workload> {
    const { config, image_id } = run;
    const command = config.job?.events.CRON;
    if (command === undefined || image_id === null) throw new Error(`${config.name} has no release to run by its schedule`);
    const workload = await deployedWorkload(this.#parts, { ...run, image_id, rollout: run.id }, true);
    return toAttempt(workload, { event: 'CRON', command, attempt, settings: this.#parts.settings });
  }

  async #logToService(
    { service_id, release_id }: { readonly service_id: string; readonly release_id: string },
    message: string,
  ): Promise<void> {
    await writeServiceLine(this.#parts, { service: service_id, release: release_id, stream: 'stderr', message });
  }
}

class Uncomputable extends Error {}

/**
 * Returns the next time of a schedule. Computing it may fail although it worked when the schedule was created: another
 * process did that, or this machine has other time zone data now.
 */
function nextOf({ config, now }: store.DueRow): Date | null {
  const schedule = config.job?.schedule ?? null;
  if (schedule === null) return null;
  try {
    return nextRun(schedule, new Date(now));
  } catch (cause) {
    const { expression, timezone } = schedule;
    const words = messageOf(cause);
    const reason = isTimeZone(timezone) ? words : `Davit's machine does not know the time zone ${timezone}`;
    throw new Uncomputable(`its schedule ${expression} cannot be computed: ${reason}.`, { cause });
  }
}

function isLaunched({ by_cluster, launched_at }: store.RunRow): boolean {
  return by_cluster || launched_at !== null;
}

function stopped({ config }: store.RunRow): DriverError {
  return new DriverError({ cause: 'JOB_FAILED', message: `${config.name} was stopped before the run started` });
}
