import type { ArmedSchedule, ClusterSchedules, ScheduledRun } from '@davit/drivers';
import { ClusterAway } from '../shared/cluster-drivers.ts';
import { driversOf, lookEveryMilliseconds, type EngineParts } from '../shared/parts.ts';
import { placedWorkload } from '../workload/placed-workload.ts';
import * as store from '../store/jobs.ts';
import { busyEnvironments } from '../store/journal.ts';
import { schedulesOf, toClusterSchedule } from './arming.ts';
import { isEndKnown, type RecordedEnd } from './known-end.ts';

/*
 * Clusters that start runs by themselves: notes the runs that they have begun, also those that have ended long ago, and sees to it that they have
 * the schedules that they should. Only the process that schedules does so.
 *
 * A run is noted under an id of the cluster's, which the database takes once. What was noted is removed from the cluster when its end is
 * recorded, and nothing else of that job is noted before: so a run that is there twice is known, however few the database remembers.
 */

// Of the times in which the scheduler looks.
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
  /** Between two looks of the scheduler, in milliseconds. */
  readonly #tick: number;

  /** `isUnderWay`: whether somebody in this process waits for the end of a run, and removes it then. */
  constructor(parts: EngineParts, isUnderWay: (run: string) => boolean) {
    this.#parts = parts;
    this.#isUnderWay = isUnderWay;
    this.#tick = lookEveryMilliseconds(parts.settings);
  }

  /** Looks at each cluster that it has not looked at for a while; one that does not answer keeps no other waiting. */
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

  /** Does not wait for the time of the next look. */
  lookSoon(driver: string): void {
    const looked = this.#looked.get(driver);
    if (looked !== undefined) looked.at = -Infinity;
  }

  /** After the signals of all looks were aborted. */
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
      if (signal.aborted || error instanceof ClusterAway) return;
      this.#parts.log.warn({ err: error, driver }, 'the schedules of a cluster could not be looked at');
    }
  }

  async #note(driver: string, runs: readonly ScheduledRun[], signal: AbortSignal): Promise<void> {
    // What a cluster says is not to be trusted: it may be anybody's.
    const valid = runs.filter(({ id, service, release }) => [id, service, release].every((text) => uuid.test(text)));
    if (valid.length === 0) return;
    const rows = await this.#parts.database.many(store.knownRuns, [valid.map(({ id }) => id)]);
    const known = new Map(rows.map((row) => [row.id, row]));
    for (const own of Map.groupBy(valid, ({ service }) => service).values()) {
      try {
        await this.#noteNext(driver, own, known, signal);
      } catch (error) {
        if (signal.aborted || error instanceof ClusterAway) throw error;
        this.#parts.log.warn({ err: error, service: own[0]?.service }, 'the runs of a schedule could not be noted');
      }
    }
  }

  /** Of the runs of one job. */
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
      // Whoever recorded its end did not come to remove it, or did not know whether it had come.
      if (run.isOver || isEndKnown(recorded)) await this.#remove(driver, run, signal);
    }
    // One whose release is gone (it began while its service was uninstalled) cannot be noted, and keeps no later one from it.
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

  /** Somebody else may have removed or changed a schedule, and a deployment that ended early may have left one suspended. */
  async #keep(driver: string, schedules: ClusterSchedules, signal: AbortSignal): Promise<void> {
    const { database } = this.#parts;
    // First what is there, then who works on it, then what should be: as the keeper does, and for its reasons.
    const armed = new Map((await schedules.list(signal)).map((one) => [one.service, one]));
    const busy = await this.#busy();
    const wanted = new Map((await database.many(store.clusterSchedules, [driver])).map((row) => [row.service_id, row]));
    for (const row of wanted.values()) {
      const is = armed.get(row.service_id);
      if (busy.has(row.environment_id) || (is?.rollout === row.rollout && !is.isSuspended)) continue;
      try {
        await this.#put(schedules, row, is, signal);
      } catch (error) {
        if (signal.aborted || error instanceof ClusterAway) throw error;
        this.#parts.log.warn({ err: error, service: row.service_id }, 'the schedule of a job could not be put on its cluster');
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
    const workload = await placedWorkload(this.#parts, { ...row, image_id }, true);
    const schedule = toClusterSchedule(workload, config, this.#parts.settings.builtInPrefix);
    // A deployment may have begun since.
    if (schedule === null || (await this.#busy()).has(environment)) return;
    const log = (line: string): void => this.#parts.log.info({ service }, line);
    await schedules.apply(schedule, { isSuspended: false }, { signal, log });
  }

  async #busy(): Promise<ReadonlySet<string>> {
    return new Set((await this.#parts.database.many(busyEnvironments)).map(({ environment_id }) => environment_id));
  }
}
