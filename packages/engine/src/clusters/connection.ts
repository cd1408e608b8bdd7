import {
  DriverError,
  type ClusterCharts,
  type ClusterBuilder,
  type ClusterDriver,
  type ClusterRoutes,
  type ClusterScaling,
  type ClusterUpgrades,
  type ClusterSchedules,
  type Gateway,
  type EngineImages,
  type ImageStore,
} from '@davit/drivers';
import type { DriverSet } from '../parts.ts';
import type { ClusterAccess, ClusterState } from '../port/clusters.ts';
import { toFailure } from '../run/failure.ts';
import { ClusterAway, noGateway, type ClusterDrivers, type ClusterMaker } from './drivers.ts';
import { createInsideBuilder } from './inside-builder.ts';
import { createPushingBuilder, type Workshop } from './pushing-builder.ts';

const askTimeoutMilliseconds = 5_000;

/** What is under way when the connection is made anew. */
interface Line {
  readonly drivers: ClusterDrivers | DriverError;
  readonly ended: AbortController;
}

/**
 * One cluster beside this machine's, as drivers that stay the same while what is behind them is made anew: when its credentials
 * change, and lazily at first. Calls that were under way then end as if the cluster had been away for a moment. Knows from its calls
 * whether the cluster answers.
 */
export class ClusterConnection {
  readonly set: DriverSet;
  readonly #make: ClusterMaker;
  #access: ClusterAccess;
  #line: Line | null = null;
  #awaySince: number | null = null;
  /** Called when it is found not to answer. */
  onAway: () => void = () => undefined;

  constructor(access: ClusterAccess, make: ClusterMaker, workshop: Workshop) {
    this.#access = access;
    this.#make = make;
    this.set = this.#drivers(workshop);
  }

  get access(): ClusterAccess {
    return this.#access;
  }

  /** How long it has not answered, in milliseconds; 0: it does, as far as is known. */
  get awayFor(): number {
    return this.#awaySince === null ? 0 : Math.max(1, Date.now() - this.#awaySince);
  }

  /** Works with these credentials from now on. */
  renew(access: ClusterAccess): void {
    this.#access = access;
    this.close();
  }

  /** Lets go of what there is; the next call begins anew. */
  close(): void {
    const line = this.#line;
    this.#line = null;
    line?.ended.abort();
    if (line !== null && !(line.drivers instanceof DriverError)) line.drivers.close?.();
  }

  /** Asks the cluster what it is, and what Davit may do there. Takes ten seconds at most, and does not fail. */
  async state(signal: AbortSignal): Promise<ClusterState> {
    try {
      const { engine, version, cpuMillicores, memoryMiB } = await this.ask(signal, (cluster, within) => cluster.describe(within));
      const missing = await this.ask(signal, (cluster, within) => cluster.missingPermissions?.(within) ?? Promise.resolve([]));
      const upgrade = await this.ask(signal, (cluster, within) => cluster.upgrades?.state(within) ?? Promise.resolve(null));
      return { facts: { engine, version, cpuMillicores, memoryMiB }, failure: null, missingPermissions: missing, upgrade };
    } catch (error) {
      return { facts: null, failure: toFailure(error, this.#access.id), missingPermissions: [], upgrade: null };
    }
  }

  /** Asks it something short. A cluster that takes too long for that is one that does not answer. */
  async ask<Answer>(
    signal: AbortSignal,
    question: (cluster: ClusterDriver, signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(askTimeoutMilliseconds)]);
    try {
      return await this.#use(limited, ({ cluster }, within) => question(cluster, within));
    } catch (error) {
      if (!limited.aborted || signal.aborted) throw error;
      throw this.#away(`nothing came within ${askTimeoutMilliseconds / 1_000} s`, error);
    }
  }

  #open(): Line {
    if (this.#line !== null) return this.#line;
    const ended = new AbortController();
    try {
      this.#line = { drivers: this.#make(this.#access), ended };
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      this.#line = { drivers: error, ended };
    }
    return this.#line;
  }

  #away(reason: string, error?: unknown): ClusterAway {
    if (this.#awaySince === null) {
      this.#awaySince = Date.now();
      this.onAway();
    }
    return new ClusterAway(this.#access, reason, error);
  }

  /** `tells`: that it succeeds says that the cluster answers; not so for what also ends well when a connection breaks. */
  async #use<Result>(
    signal: AbortSignal,
    action: (drivers: ClusterDrivers, signal: AbortSignal) => Promise<Result>,
    tells = true,
  ): Promise<Result> {
    const { drivers, ended } = this.#open();
    if (drivers instanceof DriverError) throw drivers;
    try {
      const result = await action(drivers, AbortSignal.any([signal, ended.signal]));
      if (tells) this.#awaySince = null;
      return result;
    } catch (error) {
      if (ended.signal.aborted && !signal.aborted) throw this.#away('it is being connected anew', error);
      if (error instanceof DriverError && error.code === 'ENGINE_UNREACHABLE') throw this.#away(error.message, error);
      throw error;
    }
  }

  #drivers(workshop: Workshop): DriverSet {
    const presently = (): ClusterDrivers | null => this.#presently();
    // Without this what a tenant wrote would run on this machine when the credentials of its cluster cannot be used.
    const connected = (): ClusterDrivers => {
      const { drivers } = this.#open();
      if (drivers instanceof DriverError) throw drivers;
      return drivers;
    };
    const [images, gateway, imageStore] = [this.#images(), this.#gateway(), this.#imageStore()];
    const overLine = (builder: ClusterBuilder): ClusterBuilder => this.#clusterBuilder(builder);
    const own = (): EngineImages | null => (presently()?.builder === undefined ? null : images);
    const cluster = this.#cluster();
    return {
      cluster,
      get terraform() {
        return connected().terraform?.(cluster);
      },
      source: workshop.source,
      get builder() {
        const registry = presently()?.imageRegistry;
        if (registry === undefined || own() !== null) return own();
        const inside = presently()?.clusterBuilder;
        if (inside === undefined) return createPushingBuilder(workshop, registry);
        return createInsideBuilder(workshop.hooks, registry, overLine(inside));
      },
      get carrier() {
        return own();
      },
      get imageRegistryId() {
        return presently()?.imageRegistry?.id;
      },
      get buildsOn() {
        return own() === null && presently()?.clusterBuilder === undefined ? workshop.driver : undefined;
      },
      get buildLimits() {
        return own() === null ? presently()?.clusterBuilder?.limits : undefined;
      },
      gateway,
      get imageStore() {
        return presently()?.imageStore === undefined ? undefined : imageStore;
      },
    };
  }

  #presently(): ClusterDrivers | null {
    const { drivers } = this.#open();
    return drivers instanceof DriverError ? null : drivers;
  }

  #cluster(): ClusterDriver {
    const presently = (): ClusterDrivers | null => this.#presently();
    const routes = this.#routes();
    const scaling = this.#scaling();
    const upgrades = this.#upgrades();
    const schedules = this.#schedules();
    const charts = this.#charts();
    const use = <Result>(signal: AbortSignal, action: (cluster: ClusterDriver, signal: AbortSignal) => Promise<Result>) =>
      this.#use(signal, ({ cluster }, within) => action(cluster, within));
    return {
      kind: 'kubernetes',
      describe: (signal) => use(signal, (cluster, within) => cluster.describe(within)),
      start: (workload, call) => use(call.signal, (cluster, signal) => cluster.start(workload, { ...call, signal })),
      awaitReady: (workload, call) => use(call.signal, (cluster, signal) => cluster.awaitReady(workload, { ...call, signal })),
      observe: (selector, signal) => use(signal, (cluster, within) => cluster.observe(selector, within)),
      retire: (selector, graceSeconds, call) =>
        use(call.signal, (cluster, signal) => cluster.retire(selector, graceSeconds, { ...call, signal })),
      revive: (instanceId, call) => use(call.signal, (cluster, signal) => cluster.revive(instanceId, { ...call, signal })),
      removeService: (environment, service, call) =>
        use(call.signal, (cluster, signal) => cluster.removeService(environment, service, { ...call, signal })),
      removeEnvironment: (environment, call) =>
        use(call.signal, (cluster, signal) => cluster.removeEnvironment(environment, { ...call, signal })),
      probe: (workload, instance, which, signal) =>
        use(signal, (cluster, within) => cluster.probe(workload, instance, which, within)),
      followLogs: (instanceId, since, onLine, signal) =>
        this.#use(signal, ({ cluster }, within) => cluster.followLogs(instanceId, since, onLine, within), false),
      readFile: (instanceId, file, signal) => use(signal, (cluster, within) => cluster.readFile(instanceId, file, within)),
      takeOut: (instanceId, path, signal) => use(signal, (cluster, within) => cluster.takeOut(instanceId, path, within)),
      putInto: (instanceId, what, signal) => use(signal, (cluster, within) => cluster.putInto(instanceId, what, within)),
      watch: (onEvent, signal) => this.#use(signal, ({ cluster }, within) => cluster.watch(onEvent, within), false),
      metrics: {
        usage: (signal) => use(signal, async (cluster, within) => (await cluster.metrics?.usage(within)) ?? []),
        volumes: (signal) => use(signal, async (cluster, within) => (await cluster.metrics?.volumes(within)) ?? []),
      },
      get upgrades() {
        return presently()?.cluster.upgrades === undefined ? undefined : upgrades;
      },
      get routes() {
        return presently()?.cluster.routes === undefined ? undefined : routes;
      },
      get scaling() {
        return presently()?.cluster.scaling === undefined ? undefined : scaling;
      },
      get charts() {
        return presently()?.cluster.charts === undefined ? undefined : charts;
      },
      get schedules() {
        return presently()?.cluster.schedules === undefined ? undefined : schedules;
      },
    };
  }

  #schedules(): ClusterSchedules {
    const use = <Result>(
      signal: AbortSignal,
      action: (schedules: ClusterSchedules, signal: AbortSignal) => Promise<Result>,
    ): Promise<Result> =>
      this.#use(signal, ({ cluster }, within) => {
        if (cluster.schedules === undefined) throw this.#away('it is being connected anew');
        return action(cluster.schedules, within);
      });
    return {
      unable: (schedule, signal) => use(signal, (schedules, within) => schedules.unable(schedule, within)),
      apply: (schedule, options, call) =>
        use(call.signal, (schedules, signal) => schedules.apply(schedule, options, { ...call, signal })),
      suspend: (owner, signal) => use(signal, (schedules, within) => schedules.suspend(owner, within)),
      resume: (schedule, signal) => use(signal, (schedules, within) => schedules.resume(schedule, within)),
      remove: (owner, signal) => use(signal, (schedules, within) => schedules.remove(owner, within)),
      list: (signal) => use(signal, (schedules, within) => schedules.list(within)),
      runs: (selector, signal) => use(signal, (schedules, within) => schedules.runs(selector, within)),
      awaitStarted: (workload, call) =>
        use(call.signal, (schedules, signal) => schedules.awaitStarted(workload, { ...call, signal })),
    };
  }

  #routes(): ClusterRoutes {
    const use = (signal: AbortSignal, action: (routes: ClusterRoutes, signal: AbortSignal) => Promise<void>) =>
      this.#use(signal, ({ cluster }, within) => {
        if (cluster.routes === undefined) throw this.#away('it is being connected anew');
        return action(cluster.routes, within);
      });
    return {
      apply: (served, signal) => use(signal, (routes, within) => routes.apply(served, within)),
      remove: (owner, signal) => use(signal, (routes, within) => routes.remove(owner, within)),
    };
  }

  #scaling(): ClusterScaling {
    const present = ({ cluster }: ClusterDrivers): ClusterScaling => {
      if (cluster.scaling === undefined) throw this.#away('it is being connected anew');
      return cluster.scaling;
    };
    const use = <Result>(signal: AbortSignal, action: (scaling: ClusterScaling, signal: AbortSignal) => Promise<Result>) =>
      this.#use(signal, (drivers, within) => action(present(drivers), within));
    return {
      missing: (by, signal) => use(signal, (scaling, within) => scaling.missing(by, within)),
      apply: (scaled, signal) => use(signal, (scaling, within) => scaling.apply(scaled, within)),
      remove: (owner, signal) => use(signal, (scaling, within) => scaling.remove(owner, within)),
      wanted: (signal) => use(signal, (scaling, within) => scaling.wanted(within)),
      report: (owner, running, signal) => use(signal, (scaling, within) => scaling.report(owner, running, within)),
      watch: (onChange, signal) => this.#use(signal, (drivers, within) => present(drivers).watch(onChange, within), false),
    };
  }

  #charts(): ClusterCharts {
    const use = <Result>(signal: AbortSignal, action: (charts: ClusterCharts, signal: AbortSignal) => Promise<Result>) =>
      this.#use(signal, ({ cluster }, within) => {
        if (cluster.charts === undefined) throw this.#away('it is being connected anew');
        return action(cluster.charts, within);
      });
    return {
      access: (owner, wish, signal) => use(signal, (charts, within) => charts.access(owner, wish, within)),
      outside: (owner, objects, signal) => use(signal, (charts, within) => charts.outside(owner, objects, within)),
      revisions: (place, signal) => use(signal, (charts, within) => charts.revisions(place, within)),
      whileWatched: (place, objects, work, call) =>
        use(call.signal, (charts, signal) => charts.whileWatched(place, objects, work, { ...call, signal })),
      stop: (place, call) => use(call.signal, (charts, signal) => charts.stop(place, { ...call, signal })),
      wake: (place, objects, seconds, signal) => use(signal, (charts, within) => charts.wake(place, objects, seconds, within)),
      releaseClaims: (place, signal) => use(signal, (charts, within) => charts.releaseClaims(place, within)),
      services: (place, signal) => use(signal, (charts, within) => charts.services(place, within)),
      state: (place, signal) => use(signal, (charts, within) => charts.state(place, within)),
    };
  }

  #upgrades(): ClusterUpgrades {
    const use = <Result>(signal: AbortSignal, action: (upgrades: ClusterUpgrades, signal: AbortSignal) => Promise<Result>) =>
      this.#use(signal, ({ cluster }, within) => {
        if (cluster.upgrades === undefined) throw this.#away('it is being connected anew');
        return action(cluster.upgrades, within);
      });
    return {
      state: (signal) => use(signal, (upgrades, within) => upgrades.state(within)),
      begin: (version, signal) => use(signal, (upgrades, within) => upgrades.begin(version, within)),
    };
  }

  #images(): EngineImages {
    const use = <Result>(signal: AbortSignal, action: (builder: EngineImages, signal: AbortSignal) => Promise<Result>) =>
      this.#use(signal, ({ builder }, within) => {
        if (builder === undefined) throw this.#away('it is being connected anew');
        return action(builder, within);
      });
    return {
      declaredArguments: (source) => use(forever, (builder) => builder.declaredArguments(source)),
      find: (image, signal) => use(signal, (builder, within) => builder.find(image, within)),
      build: (request, call) => use(call.signal, (builder, signal) => builder.build(request, { ...call, signal })),
      pull: (request, call) => use(call.signal, (builder, signal) => builder.pull(request, { ...call, signal })),
      push: (request, call) => use(call.signal, (builder, signal) => builder.push(request, { ...call, signal })),
      removeImages: (ids, call) => use(call.signal, (builder, signal) => builder.removeImages(ids, { ...call, signal })),
    };
  }

  #clusterBuilder({ limits }: ClusterBuilder): ClusterBuilder {
    const use = <Result>(signal: AbortSignal, action: (builder: ClusterBuilder, signal: AbortSignal) => Promise<Result>) =>
      this.#use(signal, ({ clusterBuilder }, within) => {
        if (clusterBuilder === undefined) throw this.#away('it is being connected anew');
        return action(clusterBuilder, within);
      });
    return {
      limits,
      declaredArguments: (source) => use(forever, (builder) => builder.declaredArguments(source)),
      build: (request, call) => use(call.signal, (builder, signal) => builder.build(request, { ...call, signal })),
    };
  }

  #imageStore(): ImageStore {
    const use = <Result>(signal: AbortSignal, action: (store: ImageStore, signal: AbortSignal) => Promise<Result>) =>
      this.#use(signal, ({ imageStore }, within) => {
        if (imageStore === undefined) throw this.#away('it is being connected anew');
        return action(imageStore, within);
      });
    return {
      list: (signal) => use(signal, (store, within) => store.list(within)),
      space: (signal) => use(signal, (store, within) => store.space(within)),
      release: (image, call) => use(call.signal, (store, signal) => store.release(image, { ...call, signal })),
    };
  }

  #gateway(): Gateway {
    const present = ({ gateway }: ClusterDrivers): Gateway => gateway ?? noGateway;
    const use = <Result>(action: (gateway: Gateway) => Promise<Result>) =>
      this.#use(forever, (drivers) => action(present(drivers)), false);
    return {
      check: (table) => {
        const { drivers } = this.#open();
        if (!(drivers instanceof DriverError)) present(drivers).check(table);
      },
      start: () => use((gateway) => gateway.start()),
      apply: (table) => use((gateway) => gateway.apply(table)),
      awaitDrained: (ids, timeoutMilliseconds) => use((gateway) => gateway.awaitDrained(ids, timeoutMilliseconds)),
      traffic: () => use((gateway) => gateway.traffic()),
      stop: () => use((gateway) => gateway.stop()),
    };
  }
}

// For calls that take no signal.
const forever = new AbortController().signal;
