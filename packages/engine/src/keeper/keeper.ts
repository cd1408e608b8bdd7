import { backoffMilliseconds, Loop, pause } from '@davit/base';
import { Leadership } from '@davit/db';
import { DriverError, type CallContext, type Instance } from '@davit/drivers';
import { kindOf, type Kind } from '../kinds/index.ts';
import { removePlace } from '../former-clusters/leave.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { needsHalt } from '../kinds/process.ts';
import { startWithImage } from '../workload/registry-image.ts';
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
 * Keeps the desired instances running on one kind of cluster. The keeper takes no input: it compares the desired state
 * with the observed state and acts on the difference. Events of the engine only trigger a look. One code path therefore
 * serves an instance that exited, an engine that was restarted, a machine that was rebooted and instances that a crash
 * left.
 *
 * Every process of an installation has a keeper. Only the process that holds a database lock follows the output of
 * instances.
 */

const lookEveryMilliseconds = 10_000;
// An engine sends several events for one change, and many at once when it starts. One look serves them all.
const eventPauseMilliseconds = 100;
const steadyAfterMilliseconds = 60_000;
/**
 * Milliseconds after which a process that cannot reach a cluster releases the lock for following the output there,
 * because another process may reach the cluster.
 */
const unseenMilliseconds = 20_000;
// Seconds beyond the grace period of an instance. A removal that takes longer is stuck and is retried.
const retireSeconds = 120;
// Includes time for a pull, as in a deployment.
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
  readonly #loop: Loop;
  /**
   * Time since which every look has failed, in milliseconds since the process began; null if the last look succeeded.
   */
  #unseenSince: number | null = null;
  #isSeen: boolean | null = null;
  #seenAt = performance.now();
  #watching: Promise<void> = Promise.resolve();
  #soon: NodeJS.Timeout | null = null;

  constructor(parts: EngineParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
    this.#loop = new Loop({
      look: () => this.#lookOnce(),
      everyMilliseconds: lookEveryMilliseconds,
      onError: (error) => parts.log.warn({ err: error, driver }, 'the keeper could not look after the cluster'),
    });
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
      onUnlive: (failure, details) => this.#faults.unlive(failure, details),
      lookAnew: () => this.look(),
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

  /**
   * Whether the newest look at the cluster succeeded; null before the first look. A failure of the database does not
   * count, because it proves nothing about the cluster.
   */
  get isSeen(): boolean | null {
    return this.#isSeen;
  }

  /** Seconds since the last successful look. Before the first success, counts from the start of the keeper. */
  get lagSeconds(): number {
    return (performance.now() - this.#seenAt) / 1_000;
  }

  /** Resolves after the first look, also if the cluster is unreachable. The keeper then keeps trying. */
  async start(): Promise<void> {
    this.#loop.start();
    this.#watching = this.#watch();
    this.#faults.start();
    await this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const looksEnded = this.#loop.stop();
    if (this.#soon !== null) clearTimeout(this.#soon);
    await this.#watching;
    await looksEnded;
    await this.#tending.settled();
    await this.#faults.settled();
    await this.#disk.settled();
    await this.#probers.stop();
    await this.#logs.stop();
    // All lines are stored now. The next process to follow resumes after the last line.
    this.#follows.leave();
    await this.#follows.release();
  }

  /** Looks now, or right after the running look. Resolves after a look that began after this call. */
  look(): Promise<void> {
    return this.#loop.wake();
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
        // The engine is unreachable. The looks report that; here the watch is only retried.
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

  /**
   * Tries to become the process that follows the output; see `Leadership.take`. A failed connection returns null and
   * does not stop the rest of the look.
   */
  async #termOfFollowing(): Promise<AbortSignal | null> {
    try {
      return await this.#follows.take();
    } catch (error) {
      this.#parts.log.warn({ err: error, driver: this.#driver }, 'the keeper does not know who follows the output of instances');
      return null;
    }
  }

  /**
   * Follows the output of all lasting instances.
   *
   * @param term aborted when this process may no longer follow the output on this cluster.
   */
  #followLogs(seen: Seen, term: AbortSignal): void {
    for (const instance of [...seen.byService.values()].flat()) {
      const config = seen.configs.get(instance.release);
      // The output of other instances is stored by the code that awaits their exit, because the container is removed
      // right after it.
      if (config === undefined || !kindOf(config).hasLastingInstances) continue;
      this.#logs.follow(instance, config, term);
    }
  }

  async #keep(runtime: Kept, seen: Seen, term: AbortSignal | null): Promise<void> {
    if (seen.busy.has(runtime.environment_id)) return;
    if (runtime.desired === 'RUNNING' && runtime.config === null) return;
    const instances = seen.byService.get(runtime.service_id) ?? [];
    const kind = runtime.config === null ? 'PROCESS' : kindOf(runtime.config).name;
    const keep: Readonly<Record<Kind['name'], () => Promise<void>>> = {
      PROCESS: () => this.#keepInstances(runtime, instances),
      JOB: () => this.#keepJob(runtime, instances, seen.jobRuns),
      CHART: () => this.#charts.keep(runtime, term, this.#stop.signal),
      // No instance of a Terraform configuration stays.
      TERRAFORM: () => this.#keepInstances(runtime, instances),
    };
    await keep[kind]();
  }

  /** Restarts exited instances, starts missing ones, and removes those of former rollouts. */
  async #keepInstances(runtime: Kept, instances: readonly Instance[]): Promise<void> {
    const mine =
      runtime.desired === 'RUNNING' && !runtime.is_held
        ? instances.filter((instance) => instance.rollout === runtime.rollout)
        : [];
    const others = instances.filter((instance) => !mine.includes(instance));
    const areGone = await this.#retire(runtime.service_id, others, terminationGrace(runtime.config, this.#parts.settings));
    if (runtime.desired !== 'RUNNING' || runtime.config === null || runtime.is_held) return;
    // A second instance beside one that cannot be removed, because its node or engine is unreachable, would be a second
    // writer of the volume.
    if (!areGone && needsHalt(runtime.config)) return;
    const { existing, serving, lasting } = instanceCounts(runtime, runtime.config);
    if (mine.some(({ index }) => index >= existing)) await this.#retireFrom(runtime, existing);
    // Instances above `lasting` are being removed, so their exit is intended.
    const ended = mine.filter(({ index, state }) => index < lasting && state !== 'RUNNING');
    // The scaler starts the instances above `serving`, and awaits them.
    const isMissing = mine.filter(({ index }) => index < serving).length < serving;
    if (ended.length === 0 && !isMissing) return;
    // The removals above may have taken long.
    if (!(await isAsSeen(this.#parts, runtime))) return;
    for (const instance of ended) await this.#revival.ofEnded(instance);
    if (isMissing) await this.#startMissing(runtime);
  }

  /**
   * Removes the instances of a job that belong to neither a run nor a deployment: a crash left them. Nothing restarts
   * the instances of a job.
   */
  async #keepJob(runtime: Kept, instances: readonly Instance[], runs: ReadonlySet<string>): Promise<void> {
    // Runs that the cluster started are recorded and removed by the scheduler.
    const isWanted = ({ rollout, scheduled }: Instance): boolean =>
      runs.has(rollout) || (scheduled === true && runtime.desired === 'RUNNING');
    const left = instances.filter((instance) => !isWanted(instance));
    await this.#retire(runtime.service_id, left, this.#parts.settings.terminationGraceSeconds);
    // The status was cleared while the cluster was unreachable.
    if (runtime.running_status === null && runtime.desired !== 'NONE')
      await this.#parts.database.run(setRunningStatus, [runtime.service_id, 'COMPLETED', null]);
  }

  /**
   * Removes instances by rollout, so that instances that a deployment has started since the look are not affected.
   * Returns whether the instances are gone.
   */
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

  /** Removes the instances that exceed a reduced number of instances. */
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
        // A deployment may have begun. A second instance beside its own would be a second writer of the volume.
        if (await isAsSeen(this.#parts, runtime)) await cluster.start(workload, call);
      });
    });
  }

  /**
   * Removes the instances of services that should run nothing. They were left by a crash or by an incomplete removal.
   */
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

  /** Removes what is left of services that were moved to another cluster. */
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
   * Handles a failed look. Another process may still reach the cluster. The process that follows the output sets the
   * status for all processes. If it cannot reach the cluster for a while, it releases the lock to another process.
   */
  async #onUnseen(): Promise<void> {
    const now = performance.now();
    this.#unseenSince ??= now;
    const leaves = now - this.#unseenSince > unseenMilliseconds;
    try {
      if (leaves) await this.#follows.release();
      else if ((await this.#follows.take()) !== null) await this.#parts.database.run(clearRunningStatus, [this.#driver]);
    } catch {
      // The database is unreachable. Readers of the status get that error themselves.
    }
  }

  /** @param seconds timeout of the call; if omitted, the called function has its own timeout. */
  #call(seconds?: number): CallContext {
    const limit = seconds === undefined ? [] : [AbortSignal.timeout(seconds * 1_000)];
    const signal = AbortSignal.any([this.#stop.signal, ...limit]);
    return { signal, log: (line) => this.#parts.log.info({ driver: this.#driver }, line) };
  }
}
