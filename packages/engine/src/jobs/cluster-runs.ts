import type { ArmedSchedule, ClusterSchedules, ScheduledRun } from '@davit/drivers';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import { driversOf, lookEveryMilliseconds, type EngineParts } from '../shared/parts.ts';
import { deployedWorkload } from '../workload/deployed-workload.ts';
import * as store from '../store/jobs.ts';
import { busyEnvironments } from '../store/journal.ts';
import { schedulesOf, toClusterSchedule } from './arming.ts';
import { isEndKnown, type RecordedEnd } from './known-end.ts';

/*
 * Handles clusters that start runs by themselves: records the runs that they have started, including those that ended
 * long ago, and keeps their schedules as they should be. Only the process that schedules does so.
 *
 * A run is recorded under the id that the cluster gave it, which the database accepts once. After the end of a run is
 * recorded, it is removed from the cluster, and no other run of that job is recorded before. A run that is listed twice
 * is therefore recognized, however few runs the database remembers.
 */

// Numbers of looks of the scheduler.
const ticksPerLook = 3;
const ticksPerKeep = 15;
const lookWithinMilliseconds = 60_000;
const rememberedRuns = 20;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface Looked {
  at: number;
  keptAt: number;
  under: Promise<void> | null;
}

export class ClusterRuns {
  readonly #parts: EngineParts;
  readonly #isUnderWay: (run: string) => boolean;
  readonly #looked = new Map<string, Looked>();
  /** Milliseconds between two looks of the scheduler. */
  readonly #tick: number;

  /** @param isUnderWay returns whether this process awaits the end of a run, and removes the run then. */
  constructor(parts: EngineParts, isUnderWay: (run: string) => boolean) {
    this.#parts = parts;
    this.#isUnderWay = isUnderWay;
    this.#tick = lookEveryMilliseconds(parts.settings);
  }

  /** Looks at each cluster whose last look is long enough ago. An unreachable cluster does not delay the others. */
  look(signal: AbortSignal): void {
    for (const driver of this.#looked.keys()) if (this.#parts.drivers[driver] === undefined) this.#looked.delete(driver);
    for (const driver of Object.keys(this.#parts.drivers)) {
      const schedules = schedulesOf(this.#parts, driver);
      const looked = this.#looked.get(driver) ?? { at: -Infinity, keptAt: -Infinity, under: null };
      if (schedules === undefined || looked.under !== null || performance.now() - looked.at < ticksPerLook * this.#tick) continue;
      this.#looked.set(driver, looked);
      looked.under = this.#lookAt(driver, schedules, looked, signal).finally(() => {
        looked.under = null;
        looked.at = performance.now();
      });
    }
  }

  /** Looks at a cluster at the next tick, without waiting for its interval. */
  lookSoon(driver: string): void {
    const looked = this.#looked.get(driver);
    if (looked !== undefined) looked.at = -Infinity;
  }

  /** Waits for the looks under way. Their signals must have been aborted before. */
  async stop(): Promise<void> {
    await Promise.all([...this.#looked.values()].flatMap(({ under }) => under ?? []));
  }

  async #lookAt(driver: string, schedules: ClusterSchedules, looked: Looked, signal: AbortSignal): Promise<void> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(lookWithinMilliseconds)]);
    try {
      await this.#note(driver, await schedules.runs({}, limited), limited);
      if (performance.now() - looked.keptAt < ticksPerKeep * this.#tick) return;
      await this.#keep(driver, schedules, limited);
      looked.keptAt = performance.now();
    } catch (error) {
      if (signal.aborted || error instanceof ClusterUnreachable) return;
      this.#parts.log.warn({ err: error, driver }, 'the schedules of a cluster could not be read');
    }
  }

  async #note(driver: string, runs: readonly ScheduledRun[], signal: AbortSignal): Promise<void> {
    // The data of a cluster is not trusted, because other users may control the cluster.
    const valid = runs.filter(({ id, service, release }) => [id, service, release].every((text) => uuid.test(text)));
    if (valid.length === 0) return;
    const rows = await this.#parts.database.many(store.knownRuns, [valid.map(({ id }) => id)]);
    const known = new Map(rows.map((row) => [row.id, row]));
    for (const own of Map.groupBy(valid, ({ service }) => service).values()) {
      try {
        await this.#noteNext(driver, own, known, signal);
      } catch (error) {
        if (signal.aborted || error instanceof ClusterUnreachable) throw error;
        this.#parts.log.warn({ err: error, service: own[0]?.service }, 'the runs of a schedule could not be recorded');
      }
    }
  }

  /** Removes the recorded runs of one job from the cluster, and records the next one. */
  async #noteNext(
    driver: string,
    own: readonly ScheduledRun[],
    known: ReadonlyMap<string, RecordedEnd>,
    signal: AbortSignal,
  ): Promise<void> {
    for (const run of own) {
      const recorded = known.get(run.id);
      if (recorded === undefined || recorded.status === 'RUNNING') continue;
      if (this.#isUnderWay(run.id)) return;
      // The process that recorded the end died before it removed the run, or did not know whether the run had ended.
      if (run.isOver || isEndKnown(recorded)) await this.#remove(driver, run, signal);
    }
    // A run whose release no longer exists, because it started while its service was uninstalled, cannot be recorded.
    // It does not prevent later runs from being recorded.
    for (const run of own) if (!known.has(run.id) && (await this.#noteOne(driver, run))) return;
  }

  async #remove(driver: string, { id, service }: ScheduledRun, signal: AbortSignal): Promise<void> {
    const { cluster } = driversOf(this.#parts, driver);
    const call = { signal, log: (line: string): void => this.#parts.log.info({ service, run: id }, line) };
    await cluster.retire({ service, rollout: id }, 0, call);
  }

  async #noteOne(driver: string, run: ScheduledRun): Promise<boolean> {
    const { id, service, release, dueAt, startedAt } = run;
    return this.#parts.database.transaction(async (tx) => {
      const noted = await tx.maybe(store.insertClusterRun, [id, service, release, dueAt, driver, startedAt]);
      if (noted !== undefined) await tx.run(store.trimRuns, [service, rememberedRuns]);
      return noted !== undefined;
    });
  }

  /**
   * Restores schedules that were removed or changed by others, and resumes those that an aborted deployment left
   * suspended.
   */
  async #keep(driver: string, schedules: ClusterSchedules, signal: AbortSignal): Promise<void> {
    const { database } = this.#parts;
    // The order matters, as in the keeper and for the same reasons: first the schedules on the cluster, then the
    // environments with running deployments, then the desired schedules.
    const armed = new Map((await schedules.list(signal)).map((one) => [one.service, one]));
    const busy = await this.#busy();
    const wanted = new Map((await database.many(store.clusterSchedules, [driver])).map((row) => [row.service_id, row]));
    for (const row of wanted.values()) {
      const is = armed.get(row.service_id);
      if (busy.has(row.environment_id) || (is?.rollout === row.rollout && !is.isSuspended)) continue;
      try {
        await this.#put(schedules, row, is, signal);
      } catch (error) {
        if (signal.aborted || error instanceof ClusterUnreachable) throw error;
        this.#parts.log.warn(
          { err: error, service: row.service_id },
          'the schedule of a job could not be created on its cluster',
        );
      }
    }
    for (const one of armed.values()) {
      if (!wanted.has(one.service) && !busy.has(one.environment)) await schedules.remove(one, signal);
    }
  }

  async #put(
    schedules: ClusterSchedules,
    row: store.ClusterScheduleRow,
    is: ArmedSchedule | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { service_id: service, environment_id: environment, rollout, image_id, config } = row;
    if (row.waits) return;
    if (is?.rollout === rollout) {
      await schedules.resume({ environment, service, rollout }, signal);
      return;
    }
    if (image_id === null) return;
    const workload = await deployedWorkload(this.#parts, { ...row, image_id }, true);
    const schedule = toClusterSchedule(workload, config, this.#parts.settings);
    // A deployment may have begun since.
    if (schedule === null || (await this.#busy()).has(environment)) return;
    const log = (line: string): void => this.#parts.log.info({ service }, line);
    await schedules.apply(schedule, { isSuspended: false }, { signal, log });
  }

  async #busy(): Promise<ReadonlySet<string>> {
    return new Set((await this.#parts.database.many(busyEnvironments)).map(({ environment_id }) => environment_id));
  }
}
