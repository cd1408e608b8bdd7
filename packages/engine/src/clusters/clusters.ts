import { AppError, backoffMilliseconds, Loop, pause } from '@davit/base';
import { DriverError } from '@davit/drivers';
import { clustersChannel, listen, type Listener } from '@davit/db';
import { GatewaySync } from '../routes/gateway-sync.ts';
import type { DriverSet, EngineLog } from '../shared/parts.ts';
import type { ClusterAccess, ClusterState } from '../port/clusters.ts';
import type { EngineHooks } from '../port/hooks.ts';
import { ClusterConnection, type Claim } from './connection.ts';
import { FixedStates, unknownState } from './fixed-states.ts';
import { ClusterUnreachable, type ClusterMaker } from '../shared/cluster-drivers.ts';
import { Removals } from './removals.ts';
import type { Workshop } from './pushing-builder.ts';

/*
 * The clusters that this process works with, by `cluster.driver`: the fixed ones that it was created with (this
 * machine's container engine), and those that have a record. The latter are added, removed and given other credentials
 * while the process runs. The database sends a notification of each change. As a notification may be lost with its
 * connection, the records are also read periodically.
 *
 * Each cluster is polled independently, so that an unreachable cluster never delays another one.
 */

const lookEveryMilliseconds = 30_000;
const askEveryMilliseconds = 5_000;
const firstAskAgainMilliseconds = 250;
const deadAfterFailures = 3;
const rememberMilliseconds = 10_000;

export interface ClustersInput {
  readonly fixed: Readonly<Record<string, DriverSet>>;
  /** Omitted: there are no other clusters. */
  readonly make?: ClusterMaker;
  readonly hooks: Pick<EngineHooks, 'clusters' | 'claimCluster' | 'gatewayDomains'> & Workshop['hooks'];
  readonly connectionString: string;
  readonly log: EngineLog;
}

/** Work to do for a cluster while it exists. */
export interface ClusterWork {
  start(key: string): Promise<void>;
  /** Called when the cluster is reachable again. */
  wake(key: string): void;
  stop(key: string): Promise<void>;
}

interface Remembered {
  readonly until: number;
  readonly state: Promise<ClusterState>;
}

export class Clusters {
  /** Drivers of the clusters that are known now. */
  readonly drivers: Record<string, DriverSet>;
  readonly gateways: Record<string, GatewaySync>;
  readonly removals = new Removals();
  readonly #input: ClustersInput;
  readonly #connections = new Map<string, ClusterConnection>();
  readonly #remembered = new Map<string, Remembered>();
  readonly #fixed = new FixedStates();
  readonly #stop = new AbortController();
  /** The polling of each cluster by key, until it is aborted. */
  readonly #asking = new Map<string, { readonly end: AbortController; readonly done: Promise<void> }>();
  #work: ClusterWork | null = null;
  #listener: Listener | undefined;
  readonly #loop: Loop;

  constructor(input: ClustersInput) {
    this.#input = input;
    this.#loop = new Loop({
      look: () => this.#readRecords(),
      everyMilliseconds: lookEveryMilliseconds,
      onError: (error) =>
        input.log.warn({ err: error }, 'the clusters could not be read; Davit keeps working with those that it knows'),
    });
    this.drivers = { ...input.fixed };
    this.gateways = Object.fromEntries(Object.entries(input.fixed).map(([key, set]) => [key, this.#gateway(set)]));
  }

  /** Whether there can be clusters other than the fixed ones. */
  get canConnect(): boolean {
    return this.#input.make !== undefined && this.#input.hooks.clusters !== undefined;
  }

  /** Returns the name of a cluster for users. */
  nameOf(key: string): string {
    const connection = this.#connections.get(key);
    return connection === undefined ? 'the cluster of this machine' : `the cluster ${connection.access.name}`;
  }

  /**
   * Returns for how many milliseconds a cluster has been unreachable; 0 if it is reachable as far as is known, or is
   * unknown.
   */
  awayFor(key: string): number {
    return this.#connections.get(key)?.awayFor ?? 0;
  }

  /** Loads a cluster that was created, or given credentials, a moment ago. */
  async know(key: string): Promise<void> {
    if (this.drivers[key] === undefined) await this.#look();
  }

  /**
   * Returns the state of a cluster, cached for ten seconds because every record of a service shows the features of its
   * cluster.
   */
  state(key: string): Promise<ClusterState> {
    const former = this.#remembered.get(key);
    if (former !== undefined && Date.now() < former.until) return former.state;
    return this.check(key);
  }

  /** Returns the state of a cluster, queried now. */
  check(key: string): Promise<ClusterState> {
    const state = this.#ask(key);
    this.#remembered.set(key, { until: Date.now() + rememberMilliseconds, state });
    return state;
  }

  /**
   * Starts the upgrade of a cluster to another version, without waiting for its end. Fails with CLUSTER_UNREACHABLE, or
   * with REMOTE_REFUSED if the cluster refuses.
   */
  async upgrade(key: string, version: string): Promise<void> {
    const connection = this.#connections.get(key);
    if (connection === undefined) throw new Error(`there is no connection to the cluster ${key}`);
    try {
      await connection.ask(this.#stop.signal, async ({ upgrades }, within) => upgrades?.begin(version, within));
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      const code = error instanceof ClusterUnreachable ? 'CLUSTER_UNREACHABLE' : 'REMOTE_REFUSED';
      throw new AppError({ code, message: `${error.message} ${error.hint}`.trim(), cause: error });
    }
  }

  async #ask(key: string): Promise<ClusterState> {
    const fixed = this.#input.fixed[key];
    if (fixed !== undefined) return this.#fixed.ask(fixed.cluster, key);
    // Another process may have stored credentials a moment ago.
    await this.#look();
    return (await this.#connections.get(key)?.state(this.#stop.signal)) ?? unknownState;
  }

  /**
   * Starts the work of every known cluster, and of each cluster that is added, until it is removed. Resolves after the
   * first look.
   */
  async start(work: ClusterWork): Promise<void> {
    this.#work = work;
    if (!this.canConnect) return;
    const wake = (): void => void this.#look();
    const { connectionString } = this.#input;
    this.#listener = await listen({ connectionString, channels: [clustersChannel], onNotification: wake, onReconnect: wake });
    this.#loop.start();
    await this.#look();
    for (const connection of this.#connections.values()) this.#begin(connection);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const looksEnded = this.#loop.stop();
    await this.#listener?.close();
    await looksEnded;
    await Promise.all([...this.#asking.keys()].map((key) => this.#end(key)));
    for (const connection of this.#connections.values()) connection.close();
  }

  /** Resolves after the records were read by a look that began after this call. */
  async #look(): Promise<void> {
    if (this.canConnect) await this.#loop.wake();
  }

  async #readRecords(): Promise<void> {
    await this.#update((await this.#input.hooks.clusters?.()) ?? []);
  }

  async #update(found: readonly ClusterAccess[]): Promise<void> {
    const ids = new Set(found.map(({ id }) => id));
    for (const key of this.#connections.keys()) if (!ids.has(key)) await this.#forget(key);
    for (const access of found) {
      const known = this.#connections.get(access.id);
      if (known === undefined) this.#add(access);
      else if (known.access.version !== access.version) {
        known.renew(access);
        this.#remembered.delete(access.id);
        this.#input.log.info({ cluster: access.id }, 'the credentials of a cluster have changed; reconnecting');
      }
    }
  }

  #add(access: ClusterAccess): void {
    const { make, fixed, hooks } = this.#input;
    // Drivers that exist once per installation belong to its first cluster.
    const [home] = Object.entries(fixed);
    if (make === undefined || home === undefined) return;
    const [driver, set] = home;
    const claim: Claim = async (identity) => (await hooks.claimCluster?.(access.id, identity)) ?? null;
    const connection = new ClusterConnection(access, make, { driver, set, source: set.source, hooks }, claim);
    this.#connections.set(access.id, connection);
    this.drivers[access.id] = connection.set;
    this.gateways[access.id] = this.#gateway(connection.set);
    this.#remembered.delete(access.id);
    if (this.#listener !== undefined) this.#begin(connection);
  }

  async #forget(key: string): Promise<void> {
    await this.#end(key);
    this.#connections.get(key)?.close();
    this.#connections.delete(key);
    this.#remembered.delete(key);
    delete this.drivers[key];
    delete this.gateways[key];
  }

  #gateway(set: DriverSet): GatewaySync {
    const warn = (line: string): void => this.#input.log.warn({}, line);
    return new GatewaySync(set.gateway, this.#input.hooks.gatewayDomains !== undefined, warn);
  }

  #begin(connection: ClusterConnection): void {
    const key = connection.access.id;
    if (this.#work === null || this.#asking.has(key) || this.#stop.signal.aborted) return;
    const end = new AbortController();
    const started = this.#work.start(key).catch((error: unknown) => {
      this.#input.log.error({ err: error, cluster: key }, 'the work for a cluster could not be started');
    });
    const done = Promise.all([started, this.#keepAsking(connection, end.signal)]).then(() => undefined);
    this.#asking.set(key, { end, done });
  }

  async #end(key: string): Promise<void> {
    const asking = this.#asking.get(key);
    if (asking === undefined) return;
    this.#asking.delete(key);
    asking.end.abort();
    await this.#work?.stop(key);
    await asking.done;
    // The work may have been about to start.
    await this.#work?.stop(key);
  }

  /** Polls a cluster, so that its return is noticed within moments whether somebody uses the cluster or not. */
  async #keepAsking(connection: ClusterConnection, signal: AbortSignal): Promise<void> {
    const { log } = this.#input;
    const { id: cluster } = connection.access;
    let wasAway = false;
    for (let failures = 0; !signal.aborted;) {
      // The first caller that finds the cluster unreachable wakes the polling, which then queries the cluster often.
      const wake = new AbortController();
      connection.onAway = () => wake.abort();
      const failure: unknown = await connection
        .ask(signal, (cluster, within) => cluster.ping(within))
        .then(
          () => null,
          (error: unknown) => error,
        );
      if (signal.aborted) return;
      const isAway = connection.awayFor > 0;
      if (isAway && !wasAway) log.warn({ cluster, err: failure }, 'a cluster does not answer; its work waits');
      if (!isAway && wasAway) {
        log.info({ cluster }, 'the cluster answers again');
        this.#work?.wake(cluster);
      }
      wasAway = isAway;
      failures = isAway ? failures + 1 : 0;
      // Calls that hang in a dead connection must not hang longer than the cluster is unreachable.
      if (failures === deadAfterFailures) connection.close();
      const milliseconds = isAway
        ? backoffMilliseconds(failures, firstAskAgainMilliseconds, askEveryMilliseconds)
        : askEveryMilliseconds;
      await pause(milliseconds, isAway ? signal : AbortSignal.any([signal, wake.signal]));
    }
  }
}
