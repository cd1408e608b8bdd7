import { Client, type ClientConfig } from 'pg';
import { openSession } from './opening.ts';
import { cut, Watch, type WatchTimes } from './watch.ts';

/*
 * Pool of connections that are lent out one at a time. pg's own Pool does this too, but closes a connection after each
 * failed statement (every name conflict would cost a new connection). Its timers, events and ticks took 4 of the 41 µs
 * of a prepared select; this pool takes less than 1 µs.
 */

export interface PoolOptions {
  readonly settings: ClientConfig;
  readonly maximumConnections: number;
  /** Milliseconds that a request waits for a connection, whether free or new. */
  readonly waitMilliseconds: number;
  /** Age in milliseconds at which an idle connection is closed. This releases the connections that a burst opened. */
  readonly lifetimeMilliseconds: number;
  /** Whether a read-only server is acceptable. Default: no. */
  readonly readsOnly?: boolean;
  /** Called for failures of idle connections. */
  readonly onIdleFailure: (error: Error) => void;
  /** Intervals for checking a server that does not respond to a statement; see watch.ts. */
  readonly watch?: WatchTimes;
}

/** Current load of a pool. */
export interface PoolState {
  readonly maximum: number;
  /** Number of connections used by a statement or transaction, or being opened. */
  readonly busy: number;
  readonly idle: number;
  /** Number of callers that wait for a connection. */
  readonly waiting: number;
  /**
   * Since the start of the process: number of callers that waited, their total waiting time in seconds, and number of
   * callers that timed out.
   */
  readonly waits: number;
  readonly waitedSeconds: number;
  readonly timeouts: number;
}

interface Waiter {
  readonly since: number;
  readonly resolve: (client: Client) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class ConnectionPool {
  readonly #options: PoolOptions;
  /**
   * Idle connections, last in, first out: frequently used connections keep their caches warm, and the others expire.
   */
  readonly #idle: Client[] = [];
  /** All connections that are open or being opened, with the time after which they are closed when idle. */
  readonly #expiry = new Map<Client, number>();
  readonly #waiters: Waiter[] = [];
  readonly #sweeper: NodeJS.Timeout;
  readonly #watch: Watch;
  #closed: PromiseWithResolvers<void> | undefined;
  #waits = 0;
  #waitedMilliseconds = 0;
  #timeouts = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#sweeper = setInterval(() => this.#sweep(), options.lifetimeMilliseconds / 4);
    this.#sweeper.unref();
    this.#watch = new Watch({
      ...options.watch,
      settings: options.settings,
      onVanished: (clients) => this.#dropVanished(clients),
    });
  }

  get state(): PoolState {
    const idle = this.#idle.length;
    const now = performance.now();
    const under = this.#waiters.reduce((sum, { since }) => sum + now - since, 0);
    return {
      maximum: this.#options.maximumConnections,
      busy: this.#expiry.size - idle,
      idle,
      waiting: this.#waiters.length,
      waits: this.#waits,
      // Includes callers that still wait, so that a pool whose connections are never released is visible.
      waitedSeconds: (this.#waitedMilliseconds + under) / 1000,
      timeouts: this.#timeouts,
    };
  }

  /** Returns an idle connection, or undefined. The caller must release it with `giveBack`. */
  takeIdle(): Client | undefined {
    return this.#idle.pop();
  }

  /** Returns an idle connection or a new one. If the maximum is reached, waits until a connection is released. */
  async take(): Promise<Client> {
    if (this.#closed !== undefined) throw new Error('the database is closed');
    const free = this.#idle.pop();
    if (free !== undefined) return free;
    return this.#expiry.size < this.#options.maximumConnections ? this.#open() : this.#wait();
  }

  /** Releases a connection. A broken connection is closed. */
  giveBack(client: Client, isSpoilt = false): void {
    const expiry = this.#expiry.get(client);
    // The connection was lost while it was in use.
    if (expiry === undefined) return;
    if (isSpoilt || this.#closed !== undefined || expiry < Date.now()) return this.#remove(client);
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#idle.push(client);
      return;
    }
    this.#endWait(waiter);
    waiter.resolve(client);
  }

  /** Closes the pool. Resolves when all connections are released and closed. */
  close(): Promise<void> {
    if (this.#closed === undefined) {
      this.#closed = Promise.withResolvers();
      clearInterval(this.#sweeper);
      for (const { reject, timer } of this.#waiters.splice(0)) {
        clearTimeout(timer);
        reject(new Error('the database is closed'));
      }
      for (const client of this.#idle.splice(0)) this.#remove(client);
      if (this.#expiry.size === 0) this.#end(this.#closed);
    }
    return this.#closed.promise;
  }

  async #open(): Promise<Client> {
    const client = new Client({ ...this.#options.settings, connectionTimeoutMillis: this.#options.waitMilliseconds });
    this.#expiry.set(client, Date.now() + this.#options.lifetimeMilliseconds);
    client.on('error', (error) => this.#lose(client, error));
    try {
      const { readsOnly = false, waitMilliseconds } = this.#options;
      this.#watch.add(client, await openSession(client, { readsOnly, answerWithinMilliseconds: waitMilliseconds }));
      return client;
    } catch (error) {
      this.#remove(client);
      throw error;
    }
  }

  #wait(): Promise<Client> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        this.#endWait(waiter);
        this.#timeouts += 1;
        reject(new Error('timeout exceeded when waiting for a free connection'));
      }, this.#options.waitMilliseconds);
      const waiter: Waiter = { since: performance.now(), resolve, reject, timer };
      this.#waits += 1;
      this.#waiters.push(waiter);
    });
  }

  #endWait({ since, timer }: Waiter): void {
    clearTimeout(timer);
    this.#waitedMilliseconds += performance.now() - since;
  }

  #lose(client: Client, error: Error): void {
    const index = this.#idle.indexOf(client);
    if (index === -1) {
      // The user of the connection notices the loss when the current or next statement fails, and then releases the
      // connection.
      if (this.#expiry.has(client)) this.#expiry.set(client, 0);
      return;
    }
    this.#idle.splice(index, 1);
    this.#remove(client);
    this.#options.onIdleFailure(error);
  }

  #remove(client: Client): void {
    if (!this.#expiry.delete(client)) return;
    this.#watch.remove(client);
    void client.end();
    if (this.#closed !== undefined && this.#expiry.size === 0) this.#end(this.#closed);
    const waiter = this.#closed === undefined ? this.#waiters.shift() : undefined;
    if (waiter === undefined) return;
    this.#endWait(waiter);
    this.#open().then(waiter.resolve, waiter.reject);
  }

  /** Cuts unresponsive connections. The other existing connections may be no better, so they are not reused. */
  #dropVanished(clients: readonly Client[]): void {
    for (const client of this.#expiry.keys()) this.#expiry.set(client, 0);
    for (const client of this.#idle.splice(0)) {
      this.#remove(client);
      cut(client);
    }
    for (const client of clients) cut(client);
  }

  #end(closed: PromiseWithResolvers<void>): void {
    this.#watch.close();
    closed.resolve();
  }

  #sweep(): void {
    const now = Date.now();
    for (const client of this.#idle.filter((idle) => (this.#expiry.get(idle) ?? 0) < now)) {
      this.#idle.splice(this.#idle.indexOf(client), 1);
      this.#remove(client);
    }
  }
}
