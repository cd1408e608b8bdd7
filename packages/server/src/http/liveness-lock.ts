import { acquireSessionLock, type SessionLock } from '@davit/db';

/**
 * A session lock that shows that this process is alive. The lock is acquired when it is first needed, and acquired
 * again if its session was lost.
 */
export class LivenessLock {
  readonly #connectionString: string;
  readonly #name: string;
  #lock: Promise<SessionLock | null> | null = null;

  constructor(connectionString: string, name: string) {
    this.#connectionString = connectionString;
    this.#name = name;
  }

  /** Resolves once the lock is held, or cannot be acquired for now. The latter is no reason to refuse a request. */
  async hold(): Promise<void> {
    const former = this.#lock;
    const lock = await former?.catch(() => null);
    if (lock?.held === true) return;
    // Only one of several concurrent calls acquires the lock. The others would find it taken and retry forever.
    if (this.#lock === former) this.#lock = acquireSessionLock(this.#connectionString, this.#name);
    await this.#lock?.catch(() => null);
  }

  async close(): Promise<void> {
    await (await this.#lock?.catch(() => null))?.release();
  }
}
