import { backoffMilliseconds } from '@davit/base';
import { Leadership } from '@davit/db';
import { DriverError, type CallContext, type Instance } from '@davit/drivers';
import { kindOf } from '../kinds/index.ts';
import { removePlace } from '../former-clusters/leave.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { needsHalt } from '../kinds/process.ts';
import { startWithImage } from '../workload/registry-image.ts';
import { pause } from '../shared/pause.ts';
import { clearRunningStatus, setRunningStatus } from '../store/journal.ts';
import { placesToLeave } from '../store/places.ts';
import { instanceCounts } from '../scaling/instances.ts';
import { terminationGrace } from '../workload/workload.ts';
import { Attempts } from './attempts.ts';
import { ChartKeeper } from './chart-keeper.ts';
import { DiskWatch } from './disk-watch.ts';
import { FaultWatch } from './fault-watch.ts';
import { isAsSeen, workloadOf, type Kept } from './kept.ts';
import { LogCollector } from '../output/log-collector.ts';
import { Observer, type Seen } from './observer.ts';
import { Probers } from './probers.ts';
import { Revival } from './revival.ts';
import { RouteKeeper } from '../routes/route-keeper.ts';
import { noteRunningStatus, servingInstances } from './running-status.ts';
import { Tending } from './tending.ts';
import { TerraformKeeper } from './terraform-keeper.ts';

/*
 * Keeps what should run running, on one kind of cluster. It takes no input: it reads what should be and what is, and acts on
 * the difference; events of the engine merely wake it. So one path serves an instance that died, an engine that was restarted,
 * a machine that was rebooted and instances that a crash left over.
 *
 * Each process of an installation keeps; the output of instances is followed by the one that holds a lock of the database.
 */

const lookEveryMilliseconds = 10_000;
// An engine sends several events for one change, and many at once when it starts: one look serves them all.
const eventPauseMilliseconds = 100;
const steadyAfterMilliseconds = 60_000;
/** So long a process that cannot see a cluster keeps others, which may see it, from following the output there. */
const unseenMilliseconds = 20_000;
// Beyond the grace of an instance: what takes longer is held up, and is tried again.
const retireSeconds = 120;
// With time for a pull, as when it is deployed.
const startSeconds = 1_800;

export class Keeper {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #logs: LogCollector;
  readonly #stop = new AbortController();
  readonly #observer: Observer;
  readonly #attempts: Attempts;
  readonly #tending: Tending;
  readonly #probers: Probers;
  readonly #revival: Revival;
  readonly #routes: RouteKeeper;
  readonly #charts: ChartKeeper;
  readonly #terraform: TerraformKeeper;
  readonly #faults: FaultWatch;
  readonly #disk: DiskWatch;
  readonly #follows: Leadership;
  #timer: NodeJS.Timeout | undefined;
  /** Since when every look has failed, in milliseconds since the process began; null: the last one did not. */
  #unseenSince: number | null = null;
  #isSeen: boolean | null = null;
  #seenAt = performance.now();
  #watching: Promise<void> = Promise.resolve();
  #looking: Promise<void> | null = null;
  #again = false;
  #soon: NodeJS.Timeout | null = null;

  constructor(parts: EngineParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
    this.#logs = new LogCollector(parts, driver);
    this.#follows = new Leadership({ connectionString: parts.connectionString, name: `logs ${driver}` });
    this.#charts = new ChartKeeper(parts, driver, this.#logs);
    this.#terraform = new TerraformKeeper(parts, driver);
    this.#disk = new DiskWatch(parts, driver, { stop: this.#stop.signal, onNoted: () => this.#lookSoon() });
    this.#observer = new Observer(parts, driver);
    this.#routes = new RouteKeeper(parts, driver);
    this.#attempts = new Attempts(parts.log, this.#stop.signal, () => void this.look());
    this.#revival = new Revival({
      parts,
      driver,
      attempts: this.#attempts,
      call: (seconds) => this.#call(seconds),
      onUnlive: (failure, told) => this.#faults.unlive(failure, told),
      lookAnew: () => this.lookAnew(),
    });
    this.#tending = new Tending(parts.log, this.#stop.signal, () => void this.look());
    this.#faults = new FaultWatch({
      parts,
      driver,
      stop: this.#stop.signal,
      isReady: (instance) => this.#probers.isReady(instance),
      unready: (runtime) => this.#probers.unready(runtime),
      pauseSeconds: (instance) => (instance.restarts === undefined ? this.#revival.pauseSeconds(instance) : null),
      stored: (instance) => this.#logs.stored(instance.id),
      onNoted: () => this.#lookSoon(),
    });
    this.#probers = new Probers(parts, driver, {
      onDead: (instance, attempts) => void this.#revival.ofUnlive({ instance, attempts }),
      onReadiness: () => void this.look(),
    });
  }

  /** Whether the newest look at the cluster succeeded; null: there was none yet. A database that is away says nothing of the cluster. */
  get isSeen(): boolean | null {
    return this.#isSeen;
  }

  /** Seconds since it last knew what runs; counts from its start until it knows. */
  get lagSeconds(): number {
    return (performance.now() - this.#seenAt) / 1_000;
  }

  /** Resolves after the first look, or at once when the cluster cannot be reached; it goes on trying. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.look(), lookEveryMilliseconds);
    this.#watching = this.#watch();
    this.#faults.start();
    await this.look();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#timer);
    if (this.#soon !== null) clearTimeout(this.#soon);
    await this.#watching;
    await this.#looking;
    await this.#tending.settled();
    await this.#faults.settled();
    await this.#disk.settled();
    await this.#probers.stop();
    await this.#logs.stop();
    // Whoever follows next begins after the last line, which is stored by now.
    this.#follows.leave();
    await this.#follows.release();
  }

  /** Looks now; calls during a look lead to one more after it. */
  look(): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve();
    if (this.#looking !== null) {
      this.#again = true;
      return this.#looking;
    }
    this.#looking = this.#lookOnce().finally(() => {
      this.#looking = null;
      if (this.#again) {
        this.#again = false;
        void this.look();
      }
    });
    return this.#looking;
  }

  /** Looks, and resolves after a look that began after this call. */
  async lookAnew(): Promise<void> {
    await this.#looking;
    await this.look();
  }

  #lookSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = null;
      void this.look();
    }, eventPauseMilliseconds);
  }

  async #watch(): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    for (let attempt = 1; !this.#stop.signal.aborted; attempt += 1) {
      const began = performance.now();
      try {
        await cluster.watch(() => this.#lookSoon(), this.#stop.signal);
      } catch {
        // The engine is away: looking reports it, coming back is all there is to do here.
      }
      if (this.#stop.signal.aborted) return;
      if (performance.now() - began > steadyAfterMilliseconds) attempt = 1;
      await pause(backoffMilliseconds(attempt, 100, 2_000), this.#stop.signal);
      void this.look();
    }
  }

  async #lookOnce(): Promise<void> {
    try {
      const all = await this.#observer.observe(this.#stop.signal);
      this.#unseenSince = null;
      this.#isSeen = true;
      this.#seenAt = performance.now();
      const seen = await this.#terraform.keep(all, this.#attempts, this.#tending, this.#stop.signal);
      const term = await this.#termOfFollowing();
      if (term !== null) {
        this.#followLogs(seen, term);
        this.#disk.look(seen, term);
      }
      await this.#faults.look(seen, term);
      for (const runtime of seen.runtimes) {
        await noteRunningStatus(this.#parts, runtime, seen, (instance) => this.#probers.isReady(instance));
      }
      await Promise.all([
        ...seen.runtimes.map((runtime) => this.#tending.tend(runtime.service_id, () => this.#keep(runtime, seen, term))),
        ...this.#orphans(seen),
      ]);
      await this.#tending.tend('places to leave', () => this.#leave());
      await this.#syncGateway(seen);
      await this.#keepRoutes(seen);
      await this.#probers.follow(seen);
      this.#revival.forgetOthers(new Set([...seen.byService.values()].flat().map(({ id }) => id)));
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#parts.log.warn({ err: error, driver: this.#driver }, 'the keeper could not look after the cluster');
      if (!(error instanceof DriverError)) return;
      this.#isSeen = false;
      await this.#onUnseen();
    }
  }

  /** See `Leadership.take`. That there is no connection for it keeps nothing else from being done. */
  async #termOfFollowing(): Promise<AbortSignal | null> {
    try {
      return await this.#follows.take();
    } catch (error) {
      this.#parts.log.warn({ err: error, driver: this.#driver }, 'the keeper does not know who follows the output of instances');
      return null;
    }
  }

  /** `term`: as long as this process is the one that follows the output on this cluster. */
  #followLogs(seen: Seen, term: AbortSignal): void {
    for (const instance of [...seen.byService.values()].flat()) {
      const config = seen.configs.get(instance.release);
      // The output of others is stored by what waits for their end, as the container goes right after that.
      if (config === undefined || !kindOf(config).hasLastingInstances) continue;
      this.#logs.follow(instance, config, term);
    }
  }

  async #keep(runtime: Kept, seen: Seen, term: AbortSignal | null): Promise<void> {
    if (seen.busy.has(runtime.environment_id)) return;
    if (runtime.desired === 'RUNNING' && runtime.config === null) return;
    const kind = runtime.config === null ? null : kindOf(runtime.config).name;
    if (kind === 'CHART') return this.#charts.keep(runtime, term, this.#stop.signal);
    const instances = seen.byService.get(runtime.service_id) ?? [];
    if (kind === 'JOB') return this.#keepJob(runtime, instances, seen.jobRuns);
    const mine =
      runtime.desired === 'RUNNING' && !runtime.is_held
        ? instances.filter((instance) => instance.rollout === runtime.rollout)
        : [];
    const others = instances.filter((instance) => !mine.includes(instance));
    const areGone = await this.#retire(runtime.service_id, others, terminationGrace(runtime.config, this.#parts.settings));
    if (runtime.desired !== 'RUNNING' || runtime.config === null || runtime.is_held) return;
    // Beside one that does not go, as its node or engine does not answer, a volume would have two writers.
    if (!areGone && needsHalt(runtime.config)) return;
    const { existing, serving, lasting } = instanceCounts(runtime, runtime.config);
    if (mine.some(({ index }) => index >= existing)) await this.#retireFrom(runtime, existing);
    // One that is being taken away ends because it is to.
    const ended = mine.filter(({ index, state }) => index < lasting && state !== 'RUNNING');
    // Whoever adds instances starts those above, and knows how long to wait for them.
    const isMissing = mine.filter(({ index }) => index < serving).length < serving;
    if (ended.length === 0 && !isMissing) return;
    // What was taken away may have taken long.
    if (!(await isAsSeen(this.#parts, runtime))) return;
    for (const instance of ended) await this.#revival.ofEnded(instance);
    if (isMissing) await this.#startMissing(runtime);
  }

  /** Nothing of a job is kept running: what is there without a run or a deployment was left over by a crash. */
  async #keepJob(runtime: Kept, instances: readonly Instance[], runs: ReadonlySet<string>): Promise<void> {
    // Runs that the cluster began by itself are noted, and removed, by the scheduler.
    const isWanted = ({ rollout, scheduled }: Instance): boolean =>
      runs.has(rollout) || (scheduled === true && runtime.desired === 'RUNNING');
    const left = instances.filter((instance) => !isWanted(instance));
    await this.#retire(runtime.service_id, left, this.#parts.settings.terminationGraceSeconds);
    // Forgotten while the cluster could not be reached.
    if (runtime.running_status === null && runtime.desired !== 'NONE')
      await this.#parts.database.run(setRunningStatus, [runtime.service_id, 'COMPLETED', null]);
  }

  /** By rollout: what a deployment has started since it was looked is not among them. Whether they are gone. */
  async #retire(service: string, instances: readonly Instance[], graceSeconds: number): Promise<boolean> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    let areGone = true;
    for (const rollout of new Set(instances.map((instance) => instance.rollout))) {
      const isGone = await this.#attempts.attempt(`retire ${rollout}`, () =>
        cluster.retire({ service, rollout }, graceSeconds, this.#call(graceSeconds + retireSeconds)),
      );
      areGone &&= isGone;
    }
    return areGone;
  }

  /** Instances that a change of their number left over. */
  async #retireFrom({ service_id: service, rollout, config }: Kept, fromIndex: number): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    if (rollout === null) return;
    const grace = terminationGrace(config, this.#parts.settings);
    await this.#attempts.attempt(`retire from ${service}`, () =>
      cluster.retire({ service, rollout, fromIndex }, grace, this.#call(grace + retireSeconds)),
    );
  }

  async #startMissing(runtime: Kept): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    await this.#attempts.attempt(`start ${runtime.service_id}`, async () => {
      const workload = await workloadOf(this.#parts, runtime, true);
      if (workload === null || runtime.config === null) return;
      const { config, image_name: imageName } = runtime;
      const image = { driver: this.#driver, serviceName: config.name, source: config.source, imageName };
      const call = this.#call(startSeconds);
      await startWithImage(this.#parts, image, call, async () => {
        // Beside what a deployment starts that has begun since, a volume would have two writers.
        if (await isAsSeen(this.#parts, runtime)) await cluster.start(workload, call);
      });
    });
  }

  /** Instances of services that have nothing to run: a crash left them, or a clean-up that did not work at once. */
  #orphans(seen: Seen): Promise<void>[] {
    const known = new Set(seen.runtimes.map((runtime) => runtime.service_id));
    const { terminationGraceSeconds } = this.#parts.settings;
    return [...seen.byService]
      .filter(
        ([service, [first]]) => !known.has(service) && !seen.backupWork.has(service) && !seen.busy.has(first?.environment ?? ''),
      )
      .map(([service, instances]) =>
        this.#tending.tend(service, () => this.#retire(service, instances, terminationGraceSeconds)),
      );
  }

  /** What is left of services that were moved to another cluster. */
  async #leave(): Promise<void> {
    const { database } = this.#parts;
    for (const place of await database.many(placesToLeave, [this.#driver])) {
      await this.#attempts.attempt(`leave ${place.service_id}`, () => removePlace(this.#parts, place, this.#call(), true));
    }
  }

  async #syncGateway(seen: Seen): Promise<void> {
    const served = seen.runtimes.flatMap((runtime) => {
      const { config } = runtime;
      if (runtime.desired !== 'RUNNING' || config === null) return [];
      const instances = servingInstances(runtime, seen).filter(
        (instance) => instance.state === 'RUNNING' && this.#probers.isReady(instance),
      );
      return [{ id: runtime.service_id, config, instances, settled: !seen.busy.has(runtime.environment_id) }];
    });
    const done = await this.#parts.gateways[this.#driver]?.replaceAll(served, seen.gatewayVersion);
    if (done === false) void this.look();
  }

  async #keepRoutes({ runtimes, busy }: Seen): Promise<void> {
    const settled = runtimes.filter(
      (runtime) => !busy.has(runtime.environment_id) && (runtime.desired !== 'RUNNING' || runtime.config !== null),
    );
    await this.#routes.keep(settled, this.#attempts, this.#stop.signal);
  }

  /**
   * The cluster does not say what runs there. Perhaps it does to another process: who follows the output speaks for all, and leaves that to others
   * when it has seen nothing for a while.
   */
  async #onUnseen(): Promise<void> {
    const now = performance.now();
    this.#unseenSince ??= now;
    const leaves = now - this.#unseenSince > unseenMilliseconds;
    try {
      if (leaves) await this.#follows.release();
      else if ((await this.#follows.take()) !== null) await this.#parts.database.run(clearRunningStatus, [this.#driver]);
    } catch {
      // The database is what cannot be reached; whoever asks for the status is told so.
    }
  }

  /** `seconds`: how long it may take; left out: whatever is called sees to that. */
  #call(seconds?: number): CallContext {
    const limit = seconds === undefined ? [] : [AbortSignal.timeout(seconds * 1_000)];
    const signal = AbortSignal.any([this.#stop.signal, ...limit]);
    return { signal, log: (line) => this.#parts.log.info({ driver: this.#driver }, line) };
  }
}
