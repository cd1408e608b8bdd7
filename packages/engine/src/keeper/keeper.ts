import { backoffMilliseconds, Loop, pause } from '@davit/base';
import { Leadership } from '@davit/db';
import { DriverError, type CallContext, type InstanceEvent } from '@davit/drivers';
import { leaveCluster } from '../former-clusters/leave-cluster.ts';
import type { ExecutingParts } from '../kinds/kinds.ts';
import { driversOf } from '../shared/parts.ts';
import type { HandoverReceiver } from '../shared/handover.ts';
import { clearRunningStatus } from '../store/journal.ts';
import { clustersToLeave } from '../store/service-clusters.ts';
import { Attempts } from './attempts.ts';
import { DiskWatch } from './disk-watch.ts';
import { FaultWatch } from './fault-watch.ts';
import { FormerInstances } from './former-instances.ts';
import { retireInstances, type KeepTools, type Look } from './keep-tools.ts';
import { isAsSeen, type KeptService } from './kept-service.ts';
import { ownerOf } from '../workload/owner.ts';
import type { ServedService } from '../routes/gateway-sync.ts';
import { LogCollector } from '../output/log-collector.ts';
import { Observer, type ClusterSnapshot } from './observer.ts';
import { Probers } from './probers.ts';
import { Revival } from './revival.ts';
import { RouteKeeper } from '../routes/route-keeper.ts';
import { noteRunningStatus, servingInstances } from './running-status.ts';
import { ServiceQueue } from './service-queue.ts';

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
/**
 * A look at thousands of services takes time. While events arrive without a pause, as when many environments are
 * deployed, the looks that they cause take at most a fifth of the time, unless the pause between them would hide a
 * fault for longer than it may be hidden.
 */
const pauseForEachLook = 4;
const longestPauseMilliseconds = 4_000;
const steadyAfterMilliseconds = 60_000;
/**
 * Milliseconds after which a process that cannot reach a cluster releases the lock for following the output there,
 * because another process may reach the cluster.
 */
const unseenMilliseconds = 20_000;

export class Keeper {
  readonly #parts: ExecutingParts;
  readonly #driver: string;
  readonly #logs: LogCollector;
  readonly #stop = new AbortController();
  readonly #observer: Observer;
  readonly #attempts: Attempts;
  readonly #queue: ServiceQueue;
  readonly #probers: Probers;
  readonly #revival: Revival;
  readonly #routes: RouteKeeper;
  readonly #tools: KeepTools;
  readonly #faults: FaultWatch;
  readonly #disk: DiskWatch;
  readonly #former: FormerInstances;
  readonly #receiver: HandoverReceiver;
  /** The current term of following the output; null if another process follows it. */
  #term: AbortSignal | null = null;
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
  /** Duration of the last look. */
  #lookMilliseconds = 0;

  constructor(parts: ExecutingParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
    this.#loop = new Loop({
      look: async () => {
        const began = performance.now();
        await this.#lookOnce();
        this.#lookMilliseconds = Math.min(performance.now() - began, lookEveryMilliseconds);
      },
      everyMilliseconds: lookEveryMilliseconds,
      onError: (error) => parts.log.warn({ err: error, driver }, 'the keeper could not look after the cluster'),
    });
    this.#logs = new LogCollector(parts, driver);
    this.#follows = new Leadership({ connectionString: parts.connectionString, name: `logs ${driver}` });
    this.#disk = new DiskWatch(parts, driver, { stop: this.#stop.signal, onNoted: () => this.#lookSoon() });
    this.#observer = new Observer(parts, driver);
    this.#routes = new RouteKeeper(parts, driver);
    this.#attempts = new Attempts(parts.log, this.#stop.signal, () => void this.look());
    this.#revival = new Revival({
      parts,
      driver,
      attempts: this.#attempts,
      call: (seconds) => this.#call(seconds),
      onFailedLiveness: (failure, details) => this.#faults.failedLiveness(failure, details),
      refresh: () => this.look(),
    });
    this.#queue = new ServiceQueue(parts.log, this.#stop.signal, () => void this.look());
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
      onDead: (instance, attempts) => void this.#revival.ofFailedLiveness({ instance, attempts }),
      onReadiness: () => void this.look(),
    });
    this.#tools = {
      parts,
      driver,
      attempts: this.#attempts,
      queue: this.#queue,
      revival: this.#revival,
      logs: this.#logs,
      isReady: (instance) => this.#probers.isReady(instance),
      stop: this.#stop.signal,
      call: (seconds) => this.#call(seconds),
    };
    this.#receiver = { isActive: () => this.#term?.aborted === false, receive: (rollouts) => this.#receive(rollouts) };
    this.#former = new FormerInstances(this.#tools, () => this.#lookSoon());
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
    this.#parts.handover.register(this.#driver, this.#receiver);
    this.#loop.start();
    this.#watching = this.#watch();
    this.#faults.start();
    await this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#parts.handover.unregister(this.#driver, this.#receiver);
    const looksEnded = this.#loop.stop();
    if (this.#soon !== null) clearTimeout(this.#soon);
    await this.#watching;
    await looksEnded;
    await this.#queue.settled();
    await this.#former.settled();
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

  #receive(rollouts: readonly string[]): void {
    this.#former.receive(rollouts);
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#stop.signal.aborted) return;
    this.#soon ??= setTimeout(
      () => {
        this.#soon = null;
        void this.look();
      },
      Math.max(eventPauseMilliseconds, Math.min(pauseForEachLook * this.#lookMilliseconds, longestPauseMilliseconds)),
    );
  }

  async #watch(): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    for (let attempt = 1; !this.#stop.signal.aborted; attempt += 1) {
      const began = performance.now();
      try {
        await cluster.watch((event) => {
          this.#lookSoon();
          if (event.type === 'NOT_LIVE') void this.#takeNotLive(event);
        }, this.#stop.signal);
      } catch {
        // The engine is unreachable. The looks report that; here the watch is only retried.
      }
      if (this.#stop.signal.aborted) return;
      if (performance.now() - began > steadyAfterMilliseconds) attempt = 1;
      await pause(backoffMilliseconds(attempt, 100, 2_000), this.#stop.signal);
      void this.look();
    }
  }

  /** The last look may be older than the instance. */
  async #takeNotLive(event: InstanceEvent): Promise<void> {
    await this.look();
    await this.#faults.notLive(event);
  }

  async #lookOnce(): Promise<void> {
    try {
      const all = await this.#observer.observe(this.#stop.signal);
      this.#unseenSince = null;
      this.#isSeen = true;
      this.#seenAt = performance.now();
      const seen = await this.#keepRemains(all);
      const term = await this.#termOfFollowing();
      this.#term = term;
      if (term !== null) {
        this.#followLogs(seen, term);
        this.#disk.look(seen, term);
      }
      await this.#faults.look(seen, term);
      for (const runtime of seen.runtimes) {
        await noteRunningStatus(this.#parts, runtime, seen, (instance) => this.#probers.isReady(instance));
      }
      await Promise.all([
        ...seen.runtimes.map((runtime) => this.#queue.run(runtime.service_id, () => this.#keep(runtime, { seen, term }))),
        ...this.#orphans(seen),
      ]);
      await this.#queue.run('clusters to leave', () => this.#leave());
      await this.#syncGateway(seen);
      if (term !== null) this.#former.look(seen, term);
      await this.#keepRoutes(seen);
      await this.#probers.follow(seen);
      this.#revival.forgetOthers(new Set([...seen.byService.values()].flat().map(({ id }) => id)));
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#parts.log.warn({ err: error, driver: this.#driver }, 'the keeper could not check the cluster');
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
      this.#parts.log.warn(
        { err: error, driver: this.#driver },
        'the keeper could not read which instances have their output followed',
      );
      return null;
    }
  }

  /**
   * Follows the output of all lasting instances.
   *
   * @param term aborted when this process may no longer follow the output on this cluster.
   */
  #followLogs(seen: ClusterSnapshot, term: AbortSignal): void {
    for (const instance of [...seen.byService.values()].flat()) {
      const config = seen.configs.get(instance.release);
      // The output of other instances is stored by the code that awaits their exit, because the container is removed
      // right after it.
      if (config === undefined || !this.#parts.kinds.of(config).hasLastingInstances) continue;
      this.#logs.follow(instance, config, term);
    }
  }

  /** Ends the remains of each kind. Returns what was seen without their instances. */
  async #keepRemains(all: ClusterSnapshot): Promise<ClusterSnapshot> {
    let seen = all;
    for (const kind of this.#parts.kinds.all) seen = (await kind.keepRemains?.(seen, this.#tools)) ?? seen;
    return seen;
  }

  async #keep(runtime: KeptService, look: Look): Promise<void> {
    if (look.seen.busy.has(runtime.environment_id)) return;
    if (runtime.desired === 'RUNNING' && runtime.config === null) return;
    await this.#parts.kinds.of(runtime.config).keep(runtime, look, this.#tools);
  }

  /**
   * Removes the instances of services that should run nothing. They were left by a crash or by an incomplete removal.
   */
  #orphans(seen: ClusterSnapshot): Promise<void>[] {
    const known = new Set(seen.runtimes.map((runtime) => runtime.service_id));
    const { terminationGraceSeconds } = this.#parts.settings;
    return [...seen.byService]
      .filter(
        ([service, [first]]) => !known.has(service) && !seen.backupWork.has(service) && !seen.busy.has(first?.environment ?? ''),
      )
      .map(([service, instances]) =>
        this.#queue.run(service, () => retireInstances(this.#tools, service, instances, terminationGraceSeconds)),
      );
  }

  /** Removes what is left of services that were moved to another cluster. */
  async #leave(): Promise<void> {
    const { database } = this.#parts;
    for (const row of await database.many(clustersToLeave, [this.#driver])) {
      await this.#attempts.attempt(`leave ${row.service_id}`, () => leaveCluster(this.#parts, row, this.#call(), true));
    }
  }

  async #syncGateway(seen: ClusterSnapshot): Promise<void> {
    const served = seen.runtimes.flatMap((runtime) => {
      const { config } = runtime;
      if (runtime.desired !== 'RUNNING' || config === null) return [];
      const instances = servingInstances(runtime, seen).filter(
        (instance) => instance.state === 'RUNNING' && this.#probers.isReady(instance),
      );
      return [{ id: runtime.service_id, runtime, config, instances, settled: !seen.busy.has(runtime.environment_id) }];
    });
    await this.#keepAddresses(served);
    const done = await this.#parts.gateways[this.#driver]?.replaceAll(served, seen.gatewayVersion);
    if (done === false) this.#lookSoon();
  }

  /** Points addresses of services at their ready instances, which get other addresses when they restart. */
  async #keepAddresses(
    served: readonly (Pick<ServedService, 'config' | 'instances' | 'settled'> & { readonly runtime: KeptService })[],
  ): Promise<void> {
    const { addresses } = driversOf(this.#parts, this.#driver).cluster;
    if (addresses === undefined) return;
    const services = served
      .filter(({ settled }) => settled)
      .map(({ runtime, config, instances }) => ({
        owner: ownerOf(this.#parts, runtime),
        hostnames: config.hostnames,
        instances,
        isCurrent: () => isAsSeen(this.#parts, runtime),
      }));
    await this.#attempts.attempt('addresses of services', () => addresses.point(services, this.#stop.signal));
  }

  async #keepRoutes({ runtimes, busy }: ClusterSnapshot): Promise<void> {
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
