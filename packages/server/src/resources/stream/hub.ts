import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '@davit/db';
import { parseSnapshot, sees, type Snapshot } from './position.ts';
import { eventsBehind, type EventRow, type FoundRow } from './store.ts';

/*
 * Reads what is new once for all streams of this process, when the database says that there is something, and each second in case a
 * notification was lost. What was read lately is kept, so that streams go through it at their own pace; whoever is further behind
 * reads for himself. So a slow client costs no memory.
 */

const lookEveryMilliseconds = 1000;
/** Of one look; when there is more, streams read for themselves, each what it is about. */
const mostAtOnce = 1000;
const mostEvents = 2000;
const mostBatches = 500;

/** A moment up to which was read. Its snapshot is replaced by later ones as long as nothing happened in between. */
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
  readonly database: Database;
  readonly log: { warn(details: object, message: string): void };
}

export class StreamHub {
  readonly #parts: HubParts;
  readonly #followers = new Set<() => void>();
  #batches: Batch[] = [];
  #kept = 0;
  #head: Boundary | undefined;
  #firstSerial = 0;
  /** When it was last read, or the first follower came. */
  #readAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  /** `onNews` is called when there is something new; gives what ends that. */
  follow(onNews: () => void): () => void {
    if (this.#followers.size === 0) this.#readAt = performance.now();
    this.#followers.add(onNews);
    this.#timer ??= setInterval(() => this.wake(), lookEveryMilliseconds);
    return () => {
      this.#followers.delete(onNews);
      if (this.#followers.size === 0) this.#rest();
    };
  }

  /** Seconds since it was last read, which happens each second at least; 0: nobody follows. */
  get lagSeconds(): number {
    return this.#followers.size === 0 ? 0 : (performance.now() - this.#readAt) / 1000;
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#forget();
    this.#head = undefined;
  }

  /** What was read stays in the database only. */
  #forget(): void {
    this.#firstSerial = (this.#head?.serial ?? this.#firstSerial) + 1;
    this.#batches = [];
    this.#kept = 0;
  }

  /** There may be something new. */
  wake(): void {
    if (this.#followers.size === 0) return;
    this.refresh().catch((error: unknown) => {
      this.#parts.log.warn({ err: error }, 'what is new for streams could not be read; the next look is in a second');
    });
  }

  /** Reads; resolves once everything that is committed now has been read. */
  refresh(): Promise<void> {
    if (this.#reading === undefined) {
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
      });
      return this.#reading;
    }
    // The look that is under way may have begun too early: one more behind it serves all that asked meanwhile.
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.refresh();
      });
    return this.#next;
  }

  /** Up to where was read, which is behind this snapshot or the same; undefined: no snapshot of this database is. */
  async headBehind(snapshot?: Snapshot): Promise<Boundary | undefined> {
    if (this.#head === undefined || (snapshot !== undefined && !sees(this.#head.snapshot, snapshot))) await this.refresh();
    if (this.#head === undefined) throw new Error('nothing was read');
    return snapshot === undefined || sees(this.#head.snapshot, snapshot) ? this.#head : undefined;
  }

  /** What came behind a boundary; `head`: nothing yet; undefined: that is not kept any more. */
  batchAfter({ serial }: Boundary): Batch | 'head' | undefined {
    if (serial < this.#firstSerial || this.#head === undefined) return undefined;
    return this.#batches[serial - this.#firstSerial] ?? 'head';
  }

  async #read(): Promise<void> {
    const former = this.#head;
    if (former === undefined) {
      // Nobody has been told anything: what there is now is the beginning.
      const [row] = await this.#parts.database.many(eventsBehind, [Number.MAX_SAFE_INTEGER, [], 0]);
      if (row === undefined) throw new Error('a look at the stream gave no row');
      this.#head = { snapshot: parseSnapshot(row.snapshot), serial: this.#firstSerial };
      this.#readAt = performance.now();
      return;
    }
    const { xmax, underway } = former.snapshot;
    const rows = await this.#parts.database.many(eventsBehind, [xmax, underway, mostAtOnce + 1]);
    this.#readAt = performance.now();
    const [first] = rows;
    if (first === undefined || this.#head !== former) return;
    if (this.#take(former, rows, first)) for (const tell of this.#followers) tell();
  }

  /** Whether there was something new. */
  #take(former: Boundary, rows: readonly FoundRow[], { snapshot: text, horizon }: FoundRow): boolean {
    const snapshot = parseSnapshot(text);
    const events = rows.filter(isEvent);
    const isWhole = horizon === null || sees(former.snapshot, parseSnapshot(horizon));
    if (!isWhole || events.length > mostAtOnce || !sees(snapshot, former.snapshot)) {
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
    while (this.#kept > mostEvents || this.#batches.length > mostBatches) {
      this.#kept -= this.#batches.shift()?.events.length ?? 0;
      this.#firstSerial += 1;
    }
    return true;
  }

  /** Ends the looks. Streams are ended by whoever opened them. */
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
