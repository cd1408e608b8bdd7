import { abortable, neverAborted } from '@davit/base';
import {
  proxyBuilder,
  proxyCharts,
  proxyCluster,
  proxyHealth,
  DriverError,
  proxyRoutes,
  proxyScaling,
  proxySchedules,
  proxyUpgrades,
  type ClusterBuilder,
  type ClusterDriver,
  type EngineImages,
  type Gateway,
  type ImageStore,
  type UpgradeState,
  type Use,
} from '@davit/drivers';
import type { DriverSet } from '../shared/parts.ts';
import type { ClusterAccess, ClusterState } from '../port/clusters.ts';
import { toFailure } from '../shared/failure.ts';
import { ClusterUnreachable, noGateway, type ClusterDrivers, type ClusterMaker } from '../shared/cluster-drivers.ts';
import { createInsideBuilder } from './inside-builder.ts';
import { createPushingBuilder, type Workshop } from './pushing-builder.ts';

const askTimeoutMilliseconds = 5_000;
const identifyTimeoutMilliseconds = 30_000;

/** The current connection. It is replaced when the cluster is connected again. */
interface ClusterSession {
  readonly drivers: ClusterDrivers | DriverError;
  readonly ended: AbortController;
  /**
   * Resolves when it is known that no other record has the cluster; null: the identity was not checked yet, or the
   * check failed.
   */
  admission: Promise<void> | null;
}

/**
 * Assigns the cluster with this identity to the connection's record. Returns null on success, or the name of the record
 * that already has the cluster, in words.
 */
export type Claim = (identity: string) => Promise<string | null>;

/**
 * The connection to one cluster other than this machine's. Its drivers stay the same while the connection behind them
 * is replaced: when the credentials change, and lazily at first. Calls under way then end as if the cluster had been
 * unreachable for a moment. The connection learns from its calls whether the cluster is reachable.
 */
export class ClusterConnection {
  readonly set: DriverSet;
  readonly #make: ClusterMaker;
  readonly #claim: Claim;
  #access: ClusterAccess;
  #line: ClusterSession | null = null;
  #awaySince: number | null = null;
  /** Called when the cluster is found to be unreachable. */
  onAway: () => void = () => undefined;

  constructor(access: ClusterAccess, make: ClusterMaker, workshop: Workshop, claim: Claim = () => Promise.resolve(null)) {
    this.#access = access;
    this.#make = make;
    this.#claim = claim;
    this.set = this.#drivers(workshop);
  }

  get access(): ClusterAccess {
    return this.#access;
  }

  /** Milliseconds since the cluster became unreachable; 0: it is reachable, as far as is known. */
  get awayFor(): number {
    return this.#awaySince === null ? 0 : Math.max(1, Date.now() - this.#awaySince);
  }

  /** Uses these credentials from now on. */
  renew(access: ClusterAccess): void {
    this.#access = access;
    this.close();
  }

  /** Closes the connection. The next call opens a new one. */
  close(): void {
    const line = this.#line;
    this.#line = null;
    line?.ended.abort();
    if (line !== null && !(line.drivers instanceof DriverError)) line.drivers.close?.();
  }

  /**
   * Queries the facts of the cluster, and the permissions that Davit lacks. Takes ten seconds at most, and does not
   * fail.
   */
  async state(signal: AbortSignal): Promise<ClusterState> {
    try {
      const { engine, version, cpuMillicores, memoryMiB } = await this.ask(signal, (cluster, within) => cluster.describe(within));
      const missing = await this.#missing(signal);
      const upgrade = await this.#upgrade(signal);
      return { facts: { engine, version, cpuMillicores, memoryMiB }, failure: null, missingPermissions: missing, upgrade };
    } catch (error) {
      const failure = toFailure(error, this.#access.id);
      // An account without a role is no invalid account: the permissions that it lacks can be listed.
      const missing = isDenied(error) ? await this.#missing(signal).catch(() => []) : [];
      return { facts: null, failure: missing.length > 0 ? null : failure, missingPermissions: missing, upgrade: null };
    }
  }

  #missing(signal: AbortSignal): Promise<readonly string[]> {
    return this.ask(signal, (cluster, within) => cluster.missingPermissions?.(within) ?? Promise.resolve([]));
  }

  async #upgrade(signal: AbortSignal): Promise<UpgradeState | null> {
    try {
      return await this.ask(signal, (cluster, within) => cluster.upgrades?.state(within) ?? Promise.resolve(null));
    } catch (error) {
      if (!isDenied(error)) throw error;
      // Services run without that permission, too.
      return { next: null, hindrance: `Davit may not look at it: ${error.message}`, underWay: null, failure: null };
    }
  }

  /** Sends a short query. A cluster that exceeds the timeout counts as unreachable. */
  async ask<Answer>(
    signal: AbortSignal,
    question: (cluster: ClusterDriver, signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(askTimeoutMilliseconds)]);
    try {
      return await this.#use(limited, ({ cluster }, within) => question(cluster, within));
    } catch (error) {
      if (!limited.aborted || signal.aborted) throw error;
      throw this.#away(`no answer within ${askTimeoutMilliseconds / 1_000} s`, error);
    }
  }

  #open(): ClusterSession {
    if (this.#line !== null) return this.#line;
    const ended = new AbortController();
    try {
      this.#line = { drivers: this.#make(this.#access), ended, admission: null };
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      this.#line = { drivers: error, ended, admission: null };
    }
    return this.#line;
  }

  #away(reason: string, error?: unknown): ClusterUnreachable {
    if (this.#awaySince === null) {
      this.#awaySince = Date.now();
      this.onAway();
    }
    return new ClusterUnreachable(this.#access, reason, error);
  }

  /**
   * Runs an action on the connection. `provesReachable`: whether success proves that the cluster is reachable. False
   * for calls that also succeed when the connection drops, or that never contact the cluster.
   */
  async #use<Result>(
    signal: AbortSignal,
    action: (drivers: ClusterDrivers, signal: AbortSignal) => Promise<Result>,
    provesReachable = true,
  ): Promise<Result> {
    const line = this.#open();
    const { drivers, ended } = line;
    if (drivers instanceof DriverError) throw drivers;
    try {
      const within = AbortSignal.any([signal, ended.signal]);
      line.admission ??= this.#admit(line, drivers);
      await abortable(line.admission, within);
      const result = await action(drivers, within);
      if (provesReachable) this.#awaySince = null;
      return result;
    } catch (error) {
      if (ended.signal.aborted && !signal.aborted) throw this.#away('it is being reconnected', error);
      if (error instanceof DriverError && error.code === 'ENGINE_UNREACHABLE') throw this.#away(error.message, error);
      throw error;
    }
  }

  /**
   * Fails if another record already has the cluster. Two records of one cluster would each remove the other's resources
   * as leftovers, so only one of them is used. Callers wait for the check under their own signals.
   */
  async #admit(line: ClusterSession, { cluster }: ClusterDrivers): Promise<void> {
    const signal = AbortSignal.any([line.ended.signal, AbortSignal.timeout(identifyTimeoutMilliseconds)]);
    try {
      const identity = (await cluster.identity?.(signal)) ?? null;
      const holder = identity === null ? null : await this.#claim(identity);
      if (holder !== null) throw taken(this.#access, holder);
    } catch (error) {
      // The next call checks again.
      line.admission = null;
      throw error;
    }
  }

  #drivers(workshop: Workshop): DriverSet {
    const presently = (): ClusterDrivers | null => this.#presently();
    // Without this check, code of a tenant would run on this machine when the credentials of its cluster are unusable.
    const connected = (): ClusterDrivers => {
      const { drivers } = this.#open();
      if (drivers instanceof DriverError) throw drivers;
      return drivers;
    };
    const [images, gateway, imageStore] = [this.#images(), this.#gateway(), this.#imageStore()];
    const overLine = (builder: ClusterBuilder): ClusterBuilder =>
      proxyBuilder(
        builder,
        this.#part(({ clusterBuilder }) => clusterBuilder),
      );
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
      get pullRegistryId() {
        return presently()?.imageRegistry?.pullId;
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
    const presently = (): ClusterDriver | undefined => this.#presently()?.cluster;
    const health = proxyHealth(this.#part(({ cluster }) => cluster.health));
    const routes = proxyRoutes(this.#part(({ cluster }) => cluster.routes));
    const scaling = proxyScaling(this.#part(({ cluster }) => cluster.scaling));
    const upgrades = proxyUpgrades(this.#part(({ cluster }) => cluster.upgrades));
    const schedules = proxySchedules(this.#part(({ cluster }) => cluster.schedules));
    const charts = proxyCharts(this.#part(({ cluster }) => cluster.charts));
    return {
      ...proxyCluster(
        'kubernetes',
        this.#part(({ cluster }) => cluster),
      ),
      get health() {
        return presently()?.health && health;
      },
      get routes() {
        return presently()?.routes && routes;
      },
      get scaling() {
        return presently()?.scaling && scaling;
      },
      get upgrades() {
        return presently()?.upgrades && upgrades;
      },
      get schedules() {
        return presently()?.schedules && schedules;
      },
      get charts() {
        return presently()?.charts && charts;
      },
    };
  }

  /** Uses a part of the current drivers. If the part is missing, it was removed a moment ago. */
  #part<Part>(find: (drivers: ClusterDrivers) => Part | undefined): Use<Part> {
    return (signal, action, provesReachable) =>
      this.#use(
        signal,
        (drivers, within) => {
          const part = find(drivers);
          if (part === undefined) throw this.#away('it is being reconnected');
          return action(part, within);
        },
        provesReachable,
      );
  }

  #images(): EngineImages {
    const use = this.#part(({ builder }) => builder);
    return {
      declaredArguments: (source) => use(neverAborted, (builder) => builder.declaredArguments(source)),
      find: (image, signal) => use(signal, (builder, within) => builder.find(image, within)),
      build: (request, call) => use(call.signal, (builder, signal) => builder.build(request, { ...call, signal })),
      pull: (request, call) => use(call.signal, (builder, signal) => builder.pull(request, { ...call, signal })),
      push: (request, call) => use(call.signal, (builder, signal) => builder.push(request, { ...call, signal })),
      removeImages: (ids, call) => use(call.signal, (builder, signal) => builder.removeImages(ids, { ...call, signal })),
    };
  }

  #imageStore(): ImageStore {
    const use = this.#part(({ imageStore }) => imageStore);
    return {
      list: (signal) => use(signal, (store, within) => store.list(within)),
      space: (signal) => use(signal, (store, within) => store.space(within)),
      cacheBytes: (signal) => use(signal, (store, within) => store.cacheBytes(within)),
      pruneCache: (keepBytes, signal) => use(signal, (store, within) => store.pruneCache(keepBytes, within)),
      release: (image, call) => use(call.signal, (store, signal) => store.release(image, { ...call, signal })),
    };
  }

  #gateway(): Gateway {
    const present = ({ gateway }: ClusterDrivers): Gateway => gateway ?? noGateway;
    const use = <Result>(action: (gateway: Gateway) => Promise<Result>) =>
      this.#use(neverAborted, (drivers) => action(present(drivers)), false);
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

function isDenied(error: unknown): error is DriverError {
  return error instanceof DriverError && error.code === 'CLUSTER_ACCESS_DENIED';
}

function taken({ name }: ClusterAccess, holder: string): DriverError {
  return new DriverError({
    cause: 'CLUSTER_ACCESS_INVALID',
    message: `The cluster ${name} is the same Kubernetes as ${holder}, which Davit already works with`,
    hint: 'Two records of one cluster would remove what the other one has deployed. Use the existing record, or delete it first; organizations that share machines need clusters of their own, which may be virtual ones.',
  });
}
