import { pause } from '@davit/base';
import type { Database } from '@davit/db';
import { parseSnapshot, sees, type Snapshot } from './position.ts';
import { eventsBehind, type EventRow, type FoundRow } from './store.ts';

/*
 * Reads new events once for all streams of this process, 20 times a second while there are streams, and less often with
 * very many. A notification for each change would cost every writer more: only one transaction with a notification
 * commits at a time. The hub keeps recent events, so that streams can read them at their own pace. A stream that is
 * further behind reads from the database itself, so a slow client costs no memory.
 */

const lookEveryMilliseconds = 50;
/** With more than 100 streams the reads are rarer, because one write to each stream costs some 20 µs. */
const millisecondsForEach = 0.5;
/** Most events in one read. If there are more, each stream reads the events that it needs itself. */
const maxAtOnce = 1000;
const maxEvents = 2000;
const maxBatches = 500;

/** A position up to which the hub has read. Later snapshots replace the snapshot as long as there are no new events. */
export interface Boundary {
  snapshot: Snapshot;
  readonly serial: number;
}

export interface Batch {
  readonly from: Boundary;
  readonly to: Boundary;
  readonly events: readonly EventRow[];
}

export interface HubParts {
  readonly database: Pick<Database, 'many'>;
  readonly log: { warn(details: object, message: string): void };
}

export class StreamHub {
  readonly #parts: HubParts;
  readonly #followers = new Set<() => void>();
  #batches: Batch[] = [];
  #kept = 0;
  #head: Boundary | undefined;
  #firstSerial = 0;
  /** Time of the last read, or of the first follower's arrival, from performance.now(). */
  #readAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  /** Whether the last read failed. */
  #hasFailed = false;

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  /** Calls `onNews` when there are new events. Returns a function that stops this. */
  follow(onNews: () => void): () => void {
    if (this.#followers.size === 0) this.#readAt = performance.now();
    this.#followers.add(onNews);
    this.#lookLater();
    return () => {
      this.#followers.delete(onNews);
      if (this.#followers.size === 0) this.#rest();
    };
  }

  #lookLater(): void {
    const later = (): void => {
      this.#timer = undefined;
      this.#wake();
      this.#lookLater();
    };
    this.#timer ??= setTimeout(later, Math.max(lookEveryMilliseconds, this.#followers.size * millisecondsForEach));
  }

  /** Seconds since the last read. 0: no stream follows the hub. */
  get lagSeconds(): number {
    return this.#followers.size === 0 ? 0 : (performance.now() - this.#readAt) / 1000;
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#forget();
    this.#head = undefined;
  }

  /** Drops all kept events; they stay in the database. */
  #forget(): void {
    this.#firstSerial = (this.#head?.serial ?? this.#firstSerial) + 1;
    this.#batches = [];
    this.#kept = 0;
  }

  /** Starts a read, unless one is under way. */
  #wake(): void {
    if (this.#reading !== undefined) return;
    this.refresh().then(
      () => (this.#hasFailed = false),
      (error: unknown) => {
        // Reported once for each outage: the next read is only 50 ms later.
        if (!this.#hasFailed) this.#parts.log.warn({ err: error }, 'new events for streams could not be read; trying again');
        this.#hasFailed = true;
      },
    );
  }

  /** Reads new events. Resolves once every event that is committed at the time of the call has been read. */
  refresh(): Promise<void> {
    if (this.#reading === undefined) {
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
      });
      return this.#reading;
    }
    // The read in progress may have started too early. One more read after it serves all callers that arrive meanwhile.
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.refresh();
      });
    return this.#next;
  }

  /**
   * Returns the position up to which the hub has read, which is at or after `snapshot`. Returns undefined if `snapshot`
   * is not from this database.
   */
  async headBehind(snapshot?: Snapshot): Promise<Boundary | undefined> {
    if (this.#head === undefined || (snapshot !== undefined && !sees(this.#head.snapshot, snapshot))) await this.refresh();
    if (this.#head === undefined) throw new Error('nothing was read');
    return snapshot === undefined || sees(this.#head.snapshot, snapshot) ? this.#head : undefined;
  }

  /**
   * Returns the events after a boundary, `head` if there are none yet, or undefined if these events are no longer kept.
   */
  batchAfter({ serial }: Boundary): Batch | 'head' | undefined {
    if (serial < this.#firstSerial || this.#head === undefined) return undefined;
    return this.#batches[serial - this.#firstSerial] ?? 'head';
  }

  async #read(): Promise<void> {
    const former = this.#head;
    if (former === undefined) {
      // No stream has sent any event yet: the current state is the beginning.
      const [row] = await this.#parts.database.many(eventsBehind, [Number.MAX_SAFE_INTEGER, [], 0]);
      if (row === undefined) throw new Error('a look at the stream gave no row');
      this.#head = { snapshot: parseSnapshot(row.snapshot), serial: this.#firstSerial };
      this.#readAt = performance.now();
      return;
    }
    const { xmax, underway } = former.snapshot;
    const rows = await this.#parts.database.many(eventsBehind, [xmax, underway, maxAtOnce + 1]);
    this.#readAt = performance.now();
    const [first] = rows;
    if (first === undefined || this.#head !== former) return;
    if (this.#take(former, rows, first)) for (const notify of this.#followers) notify();
  }

  /** Stores the rows of a read. Returns whether they contain new events. */
  #take(former: Boundary, rows: readonly FoundRow[], { snapshot: text, horizon }: FoundRow): boolean {
    const snapshot = parseSnapshot(text);
    const events = rows.filter(isEvent);
    const isWhole = horizon === null || sees(former.snapshot, parseSnapshot(horizon));
    if (!isWhole || events.length > maxAtOnce || !sees(snapshot, former.snapshot)) {
      this.#forget();
      this.#head = { snapshot, serial: this.#firstSerial };
      return true;
    }
    if (events.length === 0) {
      former.snapshot = snapshot;
      return false;
    }
    const to = { snapshot, serial: former.serial + 1 };
    this.#batches.push({ from: former, to, events });
    this.#head = to;
    this.#kept += events.length;
    while (this.#kept > maxEvents || this.#batches.length > maxBatches) {
      this.#kept -= this.#batches.shift()?.events.length ?? 0;
      this.#firstSerial += 1;
    }
    return true;
  }

  /** Stops reading. The owner of the streams must end them. */
  async close(): Promise<void> {
    this.#followers.clear();
    this.#rest();
    while (this.#reading !== undefined || this.#next !== undefined) {
      await Promise.allSettled([this.#reading, this.#next]);
      await pause(0);
    }
  }
}

export function isEvent(row: FoundRow): row is FoundRow & EventRow {
  return row.sequence !== null;
}
