import { acquireSessionLock, type SessionLock } from './session-lock.ts';

const defaultTryEveryMilliseconds = 5_000;

export interface LeadershipOptions {
  readonly connectionString: string;
  /** What is led in; the name of the lock. */
  readonly name: string;
  /** Each try is a connection: between two of them passes so much. Default: 5 s. */
  readonly tryEveryMilliseconds?: number;
}

/**
 * Of the processes that share a database at most one leads in what `name` stands for: the one whose session has the lock of that
 * name. PostgreSQL takes the lock away when that process dies, however it dies, so that another one may lead at once;
 * half a minute later where a machine or the network died.
 */
export class Leadership {
  readonly #options: LeadershipOptions;
  #lock: SessionLock | null = null;
  #term = new AbortController();
  #trying: Promise<AbortSignal | null> | null = null;
  /** In milliseconds since the process began: clocks of machines are set. */
  #tryAt = 0;
  #hasLeft = false;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  /**
   * The term: the same signal for as long as this process leads, aborted once it does not, as another one may lead from then on. Null:
   * another process leads, the last try was a moment ago, or this one left. Throws `DatabaseUnavailable`.
   */
  async take(): Promise<AbortSignal | null> {
    if (this.#hasLeft) return null;
    if (this.#lock?.held === true) return this.#term.signal;
    this.#trying ??= this.#try().finally(() => {
      this.#trying = null;
    });
    return this.#trying;
  }

  /** Ends the term, for good. Nobody else leads before `release`: what works in this term has time to end. */
  leave(): void {
    this.#hasLeft = true;
    this.#term.abort();
  }

  /** Ends the term and lets another process lead. This one may take it again, unless it left. */
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
    // Who left meanwhile releases it.
    if (lock === null || this.#hasLeft) return null;
    const term = new AbortController();
    this.#term = term;
    void lock.lost.then(() => term.abort());
    return term.signal;
  }
}
