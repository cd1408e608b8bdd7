import { statfs } from 'node:fs/promises';
import { Loop } from '@davit/base';

/** `low`: free space is below the operator's limit; `full`: free space is not enough to write. */
export type DiskState = 'ok' | 'low' | 'full';

export interface DiskLook {
  readonly state: DiskState;
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

interface DiskLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

const mebibyte = 1024 * 1024;
// PostgreSQL writes its write-ahead log in files of 16 MiB, and needs several of them.
const fullBelowBytes = 64 * mebibyte;
const lookEveryMilliseconds = 30_000;

/** Monitors the disk of the state folder, so that the operator is warned before it is full. */
export class StateDisk {
  readonly #folder: string;
  readonly #minBytes: number;
  readonly #log: DiskLog;
  #last: DiskState = 'ok';
  readonly #loop: Loop;

  constructor({ folder, minFreeMiB, log }: { readonly folder: string; readonly minFreeMiB: number; readonly log: DiskLog }) {
    this.#folder = folder;
    this.#minBytes = Math.max(minFreeMiB * mebibyte, fullBelowBytes);
    this.#log = log;
    this.#loop = new Loop({
      look: () => this.look(),
      everyMilliseconds: lookEveryMilliseconds,
      unref: true,
      onError: (error) => log.warn({ err: error }, 'the disk of the state folder could not be looked at'),
    });
  }

  /** Starts to check the disk every 30 seconds. Logs when the state changes. */
  async start(): Promise<void> {
    this.#loop.start();
    await this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Returns the state of the disk; null if it cannot be read. */
  async look(): Promise<DiskLook | null> {
    const space = await statfs(this.#folder).catch(() => null);
    if (space === null) return null;
    const [freeBytes, sizeBytes] = [space.bavail * space.bsize, space.blocks * space.bsize];
    const state = freeBytes < fullBelowBytes ? 'full' : freeBytes < this.#minBytes ? 'low' : 'ok';
    if (state !== this.#last) this.#say(state, freeBytes);
    this.#last = state;
    return { state, freeBytes, sizeBytes };
  }

  #say(state: DiskState, freeBytes: number): void {
    const details = { folder: this.#folder, free_bytes: freeBytes };
    const advice = 'Free space there; `davit disk` shows what Davit keeps';
    if (state === 'ok') this.#log.info(details, 'the disk of the state folder has room again');
    if (state === 'low') this.#log.warn(details, `the disk of the state folder is nearly full. ${advice}`);
    if (state === 'full') this.#log.warn(details, `the disk of the state folder is full: nothing can be stored. ${advice}`);
  }
}
