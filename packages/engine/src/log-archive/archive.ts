import type { Database } from '@davit/db';
import * as store from '../store/logs.ts';
import { bytesOfSegment, linesOfSegment } from './segment.ts';
import type { Encoded } from './tasks.ts';
import { LogThread } from './threads.ts';

interface WarningLog {
  warn(details: object, message: string): void;
}

/** Newest lines of a service that always stay in service_log: streams and the status read there. */
export const newestLines = 10_000;
/** A failed attempt must not be repeated at each batch of lines. */
const retryAfterLines = 100_000;

/** Other lines were stored or removed in the meantime, so nothing is moved. */
class LinesChanged extends Error {}

/**
 * Moves older lines of services into segments. The process that stores lines of a service moves them as soon as a
 * segment is full; the housekeeper moves what is left. Several processes may do so at the same time, and any of them
 * may be killed: lines and segment change in one transaction, which is rolled back unless both agree.
 */
export class LogArchive {
  readonly #database: Database;
  readonly #log: WarningLog;
  /** Lines that this process stored since the last check of their service, by service. */
  readonly #stored = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #due = new Set<string>();
  #moving: Promise<void> | null = null;

  constructor({ database, log }: { readonly database: Database; readonly log: WarningLog }) {
    this.#database = database;
    this.#log = log;
  }

  /** Notes that lines of a service were stored. Begins to move lines if enough were stored for a segment. */
  stored(serviceId: string, lines: number): void {
    const count = (this.#stored.get(serviceId) ?? 0) + lines;
    if (count < linesOfSegment || this.#stop.signal.aborted) {
      this.#stored.set(serviceId, count);
      return;
    }
    this.#stored.delete(serviceId);
    this.#due.add(serviceId);
    this.#moving ??= this.#moveDue().finally(() => (this.#moving = null));
  }

  /** Moves the lines of all services, until `stop` is called. Throws if lines could not be moved. */
  async moveAll(): Promise<void> {
    const thread = new LogThread();
    try {
      for (const { service_id: id } of await this.#database.many(store.servicesWithLines, [newestLines + linesOfSegment])) {
        await this.#moveService(id, thread);
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    } finally {
      thread.end();
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#moving;
  }

  async #moveDue(): Promise<void> {
    const thread = new LogThread();
    try {
      for (const id of this.#due) {
        this.#due.delete(id);
        try {
          await this.#moveService(id, thread);
        } catch (error) {
          if (this.#stop.signal.aborted) return;
          this.#stored.set(id, linesOfSegment - retryAfterLines);
          this.#log.warn({ err: error, service: id }, 'older log lines could not be compressed; the housekeeper tries again');
        }
      }
    } finally {
      thread.end();
    }
  }

  async #moveService(id: string, thread: LogThread): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (!(await this.#moveSegment(id, thread))) return;
    }
  }

  /** Returns whether there may be more to move. */
  async #moveSegment(id: string, thread: LogThread): Promise<boolean> {
    const values = [id, newestLines, linesOfSegment, bytesOfSegment * 2];
    const { rows, lines } = await this.#database.one(store.oldestLines, values);
    if (lines === 0) return false;
    const segment = await thread.encode(id, rows, this.#stop.signal);
    if (segment === null) return false;
    try {
      await this.#move(id, segment);
      return true;
    } catch (error) {
      if (error instanceof LinesChanged) return false;
      throw error;
    }
  }

  async #move(id: string, segment: Encoded): Promise<void> {
    const { firstNumber, lastNumber, from, to, lines, instances, releases, frames, gramBytes } = segment;
    const bytes = [segment.messages, segment.details, segment.grams].map((one) =>
      Buffer.from(one.buffer, one.byteOffset, one.byteLength),
    );
    const where = [id, firstNumber, lastNumber, from, to, lines, instances, releases];
    const values = [...where, JSON.stringify(frames), gramBytes, ...bytes];
    await this.#database.transaction(async (tx) => {
      const moved = await tx.one(store.moveLines, values);
      if (moved.lines !== lines) throw new LinesChanged();
    });
  }
}
