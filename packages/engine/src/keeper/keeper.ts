import { backoffMilliseconds } from '@davit/base';
import type { Instance, Workload } from '@davit/drivers';
import { removePlace } from '../clusters/leave.ts';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../parts.ts';
import { startWithImage } from '../registry-image.ts';
import { openBackupWork } from '../store/backups.ts';
import { busyEnvironments, clearRunningStatus, releaseConfigs, setRunningStatus } from '../store/journal.ts';
import { runningRollouts } from '../store/jobs.ts';
import { placesToLeave } from '../store/places.ts';
import { keptRuntimes, type KeptRow } from '../store/requests.ts';
import { instanceCounts } from '../scaling/instances.ts';
import { secretIds, terminationGrace, toWorkload } from '../workload.ts';
import { LogCollector } from './log-collector.ts';
import { Prober } from './prober.ts';

/*
 * Keeps what should run running, on one kind of cluster. It takes no input: it reads what should be and what is, and acts on
 * the difference; events of the engine merely wake it. So one path serves an instance that died, an engine that was restarted,
 * a machine that was rebooted and instances that a crash left over.
 *
 * The order of reading matters. First what is, then which environments a deployment works on, then what should be: a deployment
 * that ends or begins in between can then only make the keeper do nothing, or what the deployment has done already.
 */

const lookEveryMilliseconds = 10_000;
// An engine sends several events for one change, and many at once when it starts: one look serves them all.
const eventPauseMilliseconds = 100;
const firstBackoffMilliseconds = 1_000;
const maximumBackoffMilliseconds = 60_000;
const steadyAfterMilliseconds = 60_000;

interface Trouble {
  readonly failures: number;
  readonly nextAt: number;
}

/** A service with what its release runs; without, it is not to be kept running. */
interface Kept extends KeptRow {
  readonly config: ReleaseConfig | null;
}

interface Seen {
  readonly gatewayVersion: number;
  readonly byService: ReadonlyMap<string, readonly Instance[]>;
  readonly busy: ReadonlySet<string>;
  readonly runtimes: readonly Kept[];
  /** Rollouts of jobs that a schedule has begun and that have not ended. */
  readonly jobRuns: ReadonlySet<string>;
  /** Backups and restores under way, whose instances are their own. */
  readonly backupWork: ReadonlySet<string>;
}

export class Keeper {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #logs: LogCollector;
  readonly #stop = new AbortController();
  readonly #probers = new Map<string, Prober>();
  readonly #unready = new Set<string>();
  readonly #trouble = new Map<string, Trouble>();
  readonly #followed = new Map<string, string>();
  readonly #configs = new Map<string, ReleaseConfig>();
  #timers: NodeJS.Timeout[] = [];
  #watching: Promise<void> = Promise.resolve();
  #looking: Promise<void> | null = null;
  #again = false;
  #soon: NodeJS.Timeout | null = null;

  constructor(parts: EngineParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
    this.#logs = new LogCollector(parts, driver);
  }

  /** Resolves after the first look, or at once when the cluster cannot be reached; it goes on trying. */
  async start(): Promise<void> {
    this.#timers.push(setInterval(() => void this.look(), lookEveryMilliseconds));
    this.#watching = this.#watch();
    await this.look();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#soon !== null) clearTimeout(this.#soon);
    await this.#watching;
    await this.#looking;
    await Promise.all([...this.#probers.values()].map((prober) => prober.stop()));
    await this.#logs.stop();
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
      const began = Date.now();
      try {
        await cluster.watch(() => this.#lookSoon(), this.#stop.signal);
      } catch {
        // The engine is away: looking reports it, coming back is all there is to do here.
      }
      if (this.#stop.signal.aborted) return;
      if (Date.now() - began > steadyAfterMilliseconds) attempt = 1;
      await this.#pause(backoffMilliseconds(attempt, 100, 2_000));
      void this.look();
    }
  }

  async #lookOnce(): Promise<void> {
    try {
      const seen = await this.#see();
      this.#followLogs(seen);
      await Promise.all(seen.runtimes.map((runtime) => this.#keep(runtime, seen)));
      await this.#removeOrphans(seen);
      await this.#leave();
      await this.#syncGateway(seen);
      await this.#syncProbers(seen);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#parts.log.warn({ err: error, driver: this.#driver }, 'the keeper could not look after the cluster');
      await this.#reportUnreachable();
    }
  }

  async #see(): Promise<Seen> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    const { database } = this.#parts;
    const gatewayVersion = this.#parts.gateways[this.#driver]?.version ?? 0;
    const instances = await cluster.observe({}, this.#stop.signal);
    const busy = new Set((await database.many(busyEnvironments)).map((row) => row.environment_id));
    const byService = Map.groupBy(instances, (instance) => instance.service);
    const rows = await database.many(keptRuntimes, [this.#driver, [...byService.keys()]]);
    const releases = rows.flatMap((row) => (row.desired === 'RUNNING' && row.release_id !== null ? [row.release_id] : []));
    await this.#learnConfigs(new Set([...releases, ...instances.map((instance) => instance.release)]));
    const jobRuns = new Set((await database.many(runningRollouts)).map((row) => row.id));
    const backupWork = new Set((await database.many(openBackupWork)).map((row) => row.id));
    const runtimes = rows.map((row) => ({
      ...row,
      // What of a service is left on the cluster that it was moved away from goes.
      desired: row.driver === this.#driver ? row.desired : ('NONE' as const),
      config: this.#configs.get(row.release_id ?? '') ?? null,
    }));
    return { gatewayVersion, byService, busy, runtimes, jobRuns, backupWork };
  }

  /** Reads the configurations of these releases that are not known yet, and forgets all others. */
  async #learnConfigs(releases: ReadonlySet<string>): Promise<void> {
    for (const id of this.#configs.keys()) if (!releases.has(id)) this.#configs.delete(id);
    const unknown = [...releases].filter((id) => !this.#configs.has(id));
    if (unknown.length === 0) return;
    for (const row of await this.#parts.database.many(releaseConfigs, [unknown])) this.#configs.set(row.id, row.config);
  }

  #followLogs(seen: Seen): void {
    const all = [...seen.byService.values()].flat();
    for (const instance of all) {
      const life = instance.startedAt;
      if (life === null || this.#followed.get(instance.id) === life) continue;
      const config = this.#configs.get(instance.release);
      // The output of a job is stored by what waits for its end, as its container goes right after that.
      if (config === undefined || config.job !== undefined) continue;
      this.#followed.set(instance.id, life);
      this.#logs.follow(instance, config);
    }
    const ids = new Set(all.map((instance) => instance.id));
    for (const id of this.#followed.keys()) if (!ids.has(id)) this.#followed.delete(id);
  }

  async #keep(runtime: Kept, seen: Seen): Promise<void> {
    if (seen.busy.has(runtime.environment_id)) return;
    if (runtime.desired === 'RUNNING' && runtime.config === null) return;
    const instances = seen.byService.get(runtime.service_id) ?? [];
    if (runtime.config?.job !== undefined) return this.#keepJob(runtime, instances, seen.jobRuns);
    const mine = runtime.desired === 'RUNNING' ? instances.filter((instance) => instance.rollout === runtime.rollout) : [];
    if (mine.length < instances.length) await this.#retireOthers(runtime, runtime.desired === 'RUNNING');
    if (runtime.desired !== 'RUNNING' || runtime.config === null) return;
    const { existing, serving } = instanceCounts(runtime, runtime.config);
    const kept = mine.filter((instance) => instance.index < existing);
    if (kept.length < mine.length) await this.#retireFrom(runtime, existing);
    for (const instance of kept) if (instance.state !== 'RUNNING') await this.#revive(instance);
    if (kept.length < existing) await this.#startMissing(runtime);
    const up = kept.filter(
      (instance) => instance.index < serving && instance.state === 'RUNNING' && !this.#unready.has(instance.id),
    ).length;
    const status = serving === 0 ? 'STOPPED' : up >= serving ? 'RUNNING' : up === 0 ? 'ERROR' : 'WARNING';
    if (status !== runtime.running_status || up !== runtime.running_instances) {
      await this.#parts.database.run(setRunningStatus, [runtime.service_id, status, up]);
    }
  }

  /** Nothing of a job is kept running: what is there without a run or a deployment was left over by a crash. */
  async #keepJob(runtime: Kept, instances: readonly Instance[], runs: ReadonlySet<string>): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    for (const rollout of new Set(instances.map((instance) => instance.rollout))) {
      if (runs.has(rollout)) continue;
      await this.#attempt(`retire ${rollout}`, () =>
        cluster.retire({ service: runtime.service_id, rollout }, this.#parts.settings.terminationGraceSeconds, this.#call()),
      );
    }
    // Forgotten while the cluster could not be reached.
    if (runtime.running_status === null && runtime.desired !== 'NONE')
      await this.#parts.database.run(setRunningStatus, [runtime.service_id, 'COMPLETED', null]);
  }

  async #retireOthers(runtime: Kept, keepsRollout: boolean): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    const except = keepsRollout && runtime.rollout !== null ? { exceptRollout: runtime.rollout } : {};
    await this.#attempt(`retire ${runtime.service_id}`, () =>
      cluster.retire(
        { service: runtime.service_id, ...except },
        terminationGrace(runtime.config, this.#parts.settings),
        this.#call(),
      ),
    );
  }

  /** Instances that a change of their number left over. */
  async #retireFrom({ service_id: service, rollout, config }: Kept, fromIndex: number): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    if (rollout === null) return;
    await this.#attempt(`retire from ${service}`, () =>
      cluster.retire({ service, rollout, fromIndex }, terminationGrace(config, this.#parts.settings), this.#call()),
    );
  }

  /** With growing pauses: a process that always dies must not keep the machine busy. */
  async #revive(instance: Instance): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    const ranLong =
      instance.startedAt !== null &&
      instance.exit !== null &&
      Date.parse(instance.exit.at) - Date.parse(instance.startedAt) > steadyAfterMilliseconds;
    if (ranLong) this.#trouble.delete(`revive ${instance.id}`);
    await this.#attempt(`revive ${instance.id}`, () => cluster.revive(instance.id, this.#call()), true);
  }

  async #startMissing(runtime: Kept): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    await this.#attempt(`start ${runtime.service_id}`, async () => {
      const workload = await this.#workload(runtime, true);
      if (workload === null || runtime.config === null) return;
      const { config, image_name: imageName } = runtime;
      const image = { driver: this.#driver, serviceName: config.name, source: config.source, imageName };
      await startWithImage(this.#parts, image, this.#call(), () => cluster.start(workload, this.#call()));
    });
  }

  /** Does something unless it is too soon after it was done the last time. `always`: also a success delays the next one. */
  async #attempt(key: string, action: () => Promise<void>, always = false): Promise<void> {
    const trouble = this.#trouble.get(key);
    if (trouble !== undefined && Date.now() < trouble.nextAt) return;
    const failures = (trouble?.failures ?? 0) + 1;
    const pause = backoffMilliseconds(failures, firstBackoffMilliseconds, maximumBackoffMilliseconds);
    const remember = (): void => {
      this.#trouble.set(key, { failures, nextAt: Date.now() + pause });
      this.#timers.push(setTimeout(() => void this.look(), pause + 10));
      if (this.#timers.length > 200) this.#timers = [...this.#timers.slice(0, 1), ...this.#timers.slice(-100)];
    };
    try {
      await action();
      if (always) remember();
      else this.#trouble.delete(key);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      remember();
      this.#parts.log.warn({ err: error, what: key }, 'the keeper could not do what is needed; it tries again');
    }
  }

  /** Instances of services that have nothing to run: a crash left them, or a clean-up that did not work at once. */
  async #removeOrphans(seen: Seen): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    const known = new Set(seen.runtimes.map((runtime) => runtime.service_id));
    for (const [service, instances] of seen.byService) {
      const environment = instances[0]?.environment ?? '';
      if (known.has(service) || seen.backupWork.has(service) || seen.busy.has(environment)) continue;
      await this.#attempt(`orphan ${service}`, () =>
        cluster.retire({ service }, this.#parts.settings.terminationGraceSeconds, this.#call()),
      );
    }
  }

  /** What is left of services that were moved to another cluster. */
  async #leave(): Promise<void> {
    const { database } = this.#parts;
    for (const place of await database.many(placesToLeave, [this.#driver])) {
      await this.#attempt(`leave ${place.service_id}`, () => removePlace(this.#parts, place, this.#call(), true));
    }
  }

  async #syncGateway(seen: Seen): Promise<void> {
    const served = seen.runtimes.flatMap((runtime) => {
      const { config } = runtime;
      if (runtime.desired !== 'RUNNING' || config === null) return [];
      const { serving } = instanceCounts(runtime, config);
      const instances = (seen.byService.get(runtime.service_id) ?? []).filter(
        (instance) =>
          instance.rollout === runtime.rollout &&
          instance.index < serving &&
          instance.state === 'RUNNING' &&
          !this.#unready.has(instance.id),
      );
      return [{ id: runtime.service_id, config, instances, settled: !seen.busy.has(runtime.environment_id) }];
    });
    const done = await this.#parts.gateways[this.#driver]?.replaceAll(served, seen.gatewayVersion);
    if (done === false) void this.look();
  }

  async #syncProbers(seen: Seen): Promise<void> {
    const wanted = new Map<string, { instance: Instance; runtime: Kept }>();
    for (const runtime of seen.runtimes) {
      const probes = runtime.config !== null && (runtime.config.readiness !== null || runtime.config.liveness !== null);
      if (runtime.desired !== 'RUNNING' || !probes) continue;
      for (const instance of seen.byService.get(runtime.service_id) ?? []) {
        if (instance.rollout !== runtime.rollout || instance.state !== 'RUNNING') continue;
        wanted.set(`${instance.id} ${instance.startedAt ?? ''}`, { instance, runtime });
      }
    }
    for (const [key, prober] of this.#probers) {
      if (wanted.has(key)) continue;
      this.#probers.delete(key);
      this.#unready.delete(key.split(' ', 1)[0] ?? '');
      await prober.stop();
    }
    for (const [key, { instance, runtime }] of wanted) {
      if (this.#probers.has(key)) continue;
      const workload = await this.#workload(runtime, false);
      if (workload !== null) this.#probers.set(key, this.#probe(workload, instance));
    }
  }

  #probe(workload: Workload, instance: Instance): Prober {
    return new Prober(
      this.#parts,
      this.#driver,
      { workload, instance },
      {
        onDead: (dead, seen) => {
          this.#parts.log.warn({ instance: dead.name, seen }, 'the liveness probe failed; the instance is restarted');
          void this.#revive(dead).then(() => this.look());
        },
        onReadiness: (changed, isReady) => {
          if (isReady) this.#unready.delete(changed.id);
          else this.#unready.add(changed.id);
          void this.look();
        },
      },
    );
  }

  async #workload(runtime: Kept, withSecrets: boolean): Promise<Workload | null> {
    const { hooks, settings } = this.#parts;
    const { config } = runtime;
    if (config === null || runtime.release_id === null || runtime.rollout === null || runtime.image_id === null) return null;
    const workload = toWorkload({
      owner: {
        installation: settings.installation,
        organization: runtime.organization_id,
        project: runtime.project_id,
        environment: runtime.environment_id,
        service: runtime.service_id,
      },
      release: runtime.release_id,
      rollout: runtime.rollout,
      image: runtime.image_id,
      config,
      commit: runtime.commit,
      secrets: withSecrets ? await hooks.secrets(secretIds(config)) : null,
      builtInPrefix: settings.builtInPrefix,
      readyTimeoutSeconds: settings.readyTimeoutSeconds,
      terminationGraceSeconds: settings.terminationGraceSeconds,
    });
    return { ...workload, instances: instanceCounts(runtime, config).existing };
  }

  async #reportUnreachable(): Promise<void> {
    try {
      await this.#parts.database.run(clearRunningStatus, [this.#driver]);
    } catch {
      // The database is what cannot be reached; whoever asks for the status is told so.
    }
  }

  #call(): { signal: AbortSignal; log: (line: string) => void } {
    return { signal: this.#stop.signal, log: (line) => this.#parts.log.info({ driver: this.#driver }, line) };
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#stop.signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
}
