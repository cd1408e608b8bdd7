import { acquireSessionLock, type SessionLock } from '@davit/db';

/** A session lock that says that this process lives: taken when it is first needed, and again where its session was lost. */
export class LifeSign {
  readonly #connectionString: string;
  readonly #name: string;
  #lock: Promise<SessionLock | null> | null = null;

  constructor(connectionString: string, name: string) {
    this.#connectionString = connectionString;
    this.#name = name;
  }

  /** Resolves when it is there, or cannot be had for now: that is no reason to refuse anything. */
  async show(): Promise<void> {
    const former = this.#lock;
    const lock = await former?.catch(() => null);
    if (lock?.held === true) return;
    // Of calls that come at once one asks: the others would find it taken, and ask again for ever.
    if (this.#lock === former) this.#lock = acquireSessionLock(this.#connectionString, this.#name);
    await this.#lock?.catch(() => null);
  }

  async close(): Promise<void> {
    await (await this.#lock?.catch(() => null))?.release();
  }
}
