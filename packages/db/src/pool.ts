import { Client, type ClientConfig } from 'pg';
import { openSession } from './opening.ts';
import { cut, Watch, type WatchTimes } from './watch.ts';

/*
 * Connections that are lent out one by one. pg's own Pool does this too, but it closes a connection after each failed
 * statement (every conflict of names would cost a new one), and its timers, events and ticks took 4 of the 41 µs of a
 * prepared select; this one takes less than one.
 */

export interface PoolOptions {
  readonly settings: ClientConfig;
  readonly maximumConnections: number;
  /** How long a request waits for a connection, a free one or a new one. */
  readonly waitMilliseconds: number;
  /** Age at which a connection is closed when it is not in use: gives back what a burst took. */
  readonly lifetimeMilliseconds: number;
  /** Whether a server will do that takes no changes. Default: no. */
  readonly readsOnly?: boolean;
  /** Told of failures of connections that nobody is using. */
  readonly onIdleFailure: (error: Error) => void;
  /** When the server is asked after a statement that it does not answer; see watch.ts. */
  readonly watch?: WatchTimes;
}

/** How busy a pool is now. */
export interface PoolState {
  readonly maximum: number;
  /** Connections that a statement or transaction has, and those that are being opened. */
  readonly busy: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
  /** Since the process began: callers that waited, how long they did in all, and those that gave up. */
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
  /** Last in, first out: the connections that are used most keep their caches warm, the others grow old. */
  readonly #idle: Client[] = [];
  /** All connections that are open or being opened, with the time from which on they are closed when not in use. */
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
      // Those that wait still count too, so that a pool that gives nothing back shows.
      waitedSeconds: (this.#waitedMilliseconds + under) / 1000,
      timeouts: this.#timeouts,
    };
  }

  /** A free connection, if there is one. Each that is taken must be given back. */
  takeIdle(): Client | undefined {
    return this.#idle.pop();
  }

  /** A connection: a new one, or the next that is given back when there are as many as there may be. */
  async take(): Promise<Client> {
    if (this.#closed !== undefined) throw new Error('the database is closed');
    const free = this.#idle.pop();
    if (free !== undefined) return free;
    return this.#expiry.size < this.#options.maximumConnections ? this.#open() : this.#wait();
  }

  /** Takes a connection back; one that failed is closed. */
  giveBack(client: Client, isSpoilt = false): void {
    const expiry = this.#expiry.get(client);
    // Lost while it was in use.
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

  /** Resolves when all connections are given back and closed. */
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
      // Whoever uses it learns of it by the failure of the statement that runs or comes next, and gives it back then.
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

  /** What did not answer is cut; the others that are as old may be no better, and are not given out again. */
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
