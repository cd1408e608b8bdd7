import { acquireSessionLock, type SessionLock } from './session-lock.ts';

const defaultTryEveryMilliseconds = 5_000;

export interface LeadershipOptions {
  readonly connectionString: string;
  /** Name of the lock, which stands for the area of leadership. */
  readonly name: string;
  /** Milliseconds between two attempts; each attempt opens a connection. Default: 5 s. */
  readonly tryEveryMilliseconds?: number;
}

/**
 * Elects at most one leader for `name` among the processes that share a database: the process whose session holds the
 * lock of that name. PostgreSQL releases the lock when that process dies, however it dies, so that another process can
 * lead at once. If a machine or the network failed, this takes half a minute.
 */
export class Leadership {
  readonly #options: LeadershipOptions;
  #lock: SessionLock | null = null;
  #term = new AbortController();
  #trying: Promise<AbortSignal | null> | null = null;
  /** Time of the next attempt, in milliseconds since the process started, because system clocks can be set. */
  #tryAt = 0;
  #hasLeft = false;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  /**
   * Returns the signal of the current term. The signal stays the same as long as this process leads. It aborts when the
   * process stops leading, because another process may lead from then on. Returns null if another process leads, if the
   * last attempt was a moment ago, or if `leave` was called. Throws `DatabaseUnavailable`.
   */
  async take(): Promise<AbortSignal | null> {
    if (this.#hasLeft) return null;
    if (this.#lock?.held === true) return this.#term.signal;
    this.#trying ??= this.#try().finally(() => {
      this.#trying = null;
    });
    return this.#trying;
  }

  /** Ends the term permanently. No other process leads before `release`, so work of this term has time to finish. */
  leave(): void {
    this.#hasLeft = true;
    this.#term.abort();
  }

  /**
   * Ends the term and releases the lock, so that another process can lead. This process may lead again, unless `leave`
   * was called.
   */
  async release(): Promise<void> {
    this.#term.abort();
    await this.#trying?.catch(() => null);
    const lock = this.#lock;
    this.#lock = null;
    this.#tryAt = 0;
    await lock?.release();
  }

  async #try(): Promise<AbortSignal | null> {
    const { connectionString, name, tryEveryMilliseconds = defaultTryEveryMilliseconds } = this.#options;
    if (performance.now() < this.#tryAt) return null;
    this.#tryAt = performance.now() + tryEveryMilliseconds;
    const lock = await acquireSessionLock(connectionString, name);
    this.#lock = lock;
    // If `leave` was called meanwhile, `release` releases the lock.
    if (lock === null || this.#hasLeft) return null;
    const term = new AbortController();
    this.#term = term;
    void lock.lost.then(() => term.abort());
    return term.signal;
  }
}
