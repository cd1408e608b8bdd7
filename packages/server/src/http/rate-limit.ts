import { hash } from 'node:crypto';

const windowMilliseconds = 60_000;
// Beyond this number of keys in one window, all further keys share one counter, so memory stays bounded under a flood.
const maxKeys = 100_000;
// Counts below this share of the limit are not reported to other processes. Otherwise, each address with a single
// request would be a row, and a flood would fill the table.
const untoldShare = 1 / 20;
// Milliseconds by which the reported end of a window may differ from the known end. A larger difference means that the
// clock has changed.
const trustMilliseconds = 5_000;

class Counter {
  readonly key: string;
  count = 0;
  /** Requests counted by other processes, as of the exchange numbered `lesson`. */
  others = 0;
  lesson = -1;
  /** The key's name in the exchange with other processes; computed when first needed. */
  digest = '';

  constructor(key: string) {
    this.key = key;
  }
}

/** Counts of requests. `keys` are digests, in the same order as `counts`. */
export interface Counts {
  readonly keys: readonly string[];
  readonly counts: readonly number[];
}

/** The counts of one window that this process reports to the others. */
export interface OwnCounts extends Counts {
  /** Number of the window; null before the first exchange. */
  readonly minute: number | null;
  /** When the counts were read, as a value of performance.now(). */
  readonly at: number;
}

/** The sums of the counts of all other processes. */
export interface OthersCounts extends Counts {
  /** Number of the current window, according to the database's clock. */
  readonly minute: number;
  /** Milliseconds left in that window when the database returned the counts. */
  readonly millisecondsLeft: number;
}

/**
 * Counts requests per key (token, or address while the token is unknown) in fixed windows of one minute, which begin at
 * the same moment for all keys. So expiry clears one map, memory is bounded, and a request costs one look-up. The
 * plugin `@fastify/rate-limit` is not used: it takes one key per route before the token is known, and costs about 7 µs
 * per request where this costs 3.
 *
 * Each process counts its own requests, and regularly merges the counts of the others (rate-limit-sharing.ts,
 * adr/0028). After the first exchange, windows follow the database's clock; until then a window begins with a request.
 */
export class RateLimiter {
  readonly limit: number;
  readonly #least: number;
  readonly #counters = new Map<string, Counter>();
  readonly #overflow = new Counter('');
  /** Counters whose present count has not been reported to the other processes. */
  readonly #unreported = new Set<Counter>();
  /** Counts of other processes in this window, by digest. */
  #others: ReadonlyMap<string, number> = new Map();
  #lesson = 0;
  #minute: number | null = null;
  #endsAt = 0;
  // Time of the latest call: the clock is read once per request.
  #now = 0;

  constructor(limit: number) {
    this.limit = limit;
    this.#least = Math.max(1, Math.ceil(limit * untoldShare));
  }

  /** Counts one request. Returns the number of requests left, which is negative if the limit is exceeded. */
  take(key: string): number {
    const counter = this.#counter(key);
    counter.count += 1;
    // The overflow counter is not reported, since its keys differ between processes.
    if (counter.count >= this.#least && counter !== this.#overflow) this.#unreported.add(counter);
    return this.limit - counter.count - this.#othersOf(counter);
  }

  /** Returns the number of requests left, without counting one. */
  peek(key: string): number {
    this.#turn();
    const counter = this.#counters.get(key) ?? new Counter(key);
    return this.limit - counter.count - this.#othersOf(counter);
  }

  /** Returns the seconds until the window ends, at least 1. */
  secondsToReset(): number {
    return Math.min(windowMilliseconds / 1000, Math.max(1, Math.ceil((this.#endsAt - this.#now) / 1000)));
  }

  /** Returns whether anything was counted in this window. */
  isCounting(): boolean {
    this.#turn();
    return this.#counters.size > 0;
  }

  /**
   * Returns the counts that have not been reported yet, limited to `most` keys: those that have waited longest. Changes
   * nothing; `learn` marks the counts as reported.
   */
  unreported(most: number): OwnCounts {
    this.#turn();
    const reported = this.#minute === null ? [] : this.#unreported.values().take(most).toArray();
    return { minute: this.#minute, at: this.#now, keys: reported.map(digestOf), counts: reported.map(({ count }) => count) };
  }

  /**
   * Merges the counts reported by other processes; they replace earlier ones. Adjusts the end of the window. Counts of
   * a window that has ended are ignored.
   *
   * @param sent The counts that this process reported in the same exchange.
   */
  learn(learnt: OthersCounts, sent: OwnCounts): void {
    this.#turn();
    this.#align(learnt, sent.at);
    if (this.#minute !== learnt.minute) return;
    this.#others = new Map(learnt.keys.map((key, index) => [key, learnt.counts[index] ?? 0]));
    this.#lesson += 1;
    if (sent.minute !== learnt.minute) return;
    // The reported counters are still the first ones of the set: new ones are appended.
    const counters = this.#unreported.values().take(sent.keys.length).toArray();
    for (const [index, counter] of counters.entries()) {
      this.#unreported.delete(counter);
      // The counter changed during the exchange. It is appended after the counters that did not fit into the exchange.
      if (counter.count !== sent.counts[index]) this.#unreported.add(counter);
    }
  }

  /**
   * Adjusts the end of the window. The database's reading was made at some time between `askedAt` and now, so it gives
   * a range for the end. The known end is kept if it lies in that range, otherwise it moves to the nearest bound. A
   * slow exchange gives a wide range and therefore changes nothing.
   */
  #align({ minute, millisecondsLeft }: OthersCounts, askedAt: number): void {
    const latest = this.#now + millisecondsLeft;
    if (this.#minute !== null) {
      const ahead = (this.#minute - minute) * windowMilliseconds;
      const end = Math.min(Math.max(this.#endsAt, askedAt + millisecondsLeft + ahead), latest + ahead);
      if (Math.abs(end - this.#endsAt) <= trustMilliseconds) {
        this.#endsAt = end;
        return this.#turn();
      }
      // The database's clock was set, or this machine was suspended.
      if (ahead !== 0) this.#clear();
    }
    this.#minute = minute;
    this.#endsAt = latest;
  }

  #counter(key: string): Counter {
    this.#turn();
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      if (this.#counters.size >= maxKeys) return this.#overflow;
      counter = new Counter(key);
      this.#counters.set(key, counter);
    }
    return counter;
  }

  #othersOf(counter: Counter): number {
    if (counter.lesson === this.#lesson) return counter.others;
    counter.lesson = this.#lesson;
    counter.others = this.#others.size === 0 ? 0 : (this.#others.get(digestOf(counter)) ?? 0);
    return counter.others;
  }

  #turn(): void {
    // The time of day is not used: setting the clock would end a window at once, or extend it by as much as the clock
    // was set back.
    this.#now = performance.now();
    if (this.#now < this.#endsAt) return;
    this.#clear();
    if (this.#minute === null) {
      this.#endsAt = this.#now + windowMilliseconds;
    } else {
      const windows = Math.floor((this.#now - this.#endsAt) / windowMilliseconds) + 1;
      this.#minute += windows;
      this.#endsAt += windows * windowMilliseconds;
    }
  }

  #clear(): void {
    this.#counters.clear();
    this.#unreported.clear();
    this.#overflow.count = 0;
    this.#others = new Map();
    this.#lesson += 1;
  }
}

/**
 * Returns the digest of a key, 16 bytes in hexadecimal: collisions are negligible, and tokens and addresses are not
 * disclosed.
 */
function digestOf(counter: Counter): string {
  if (counter.digest === '') counter.digest = hash('sha256', counter.key, 'hex').slice(0, 32);
  return counter.digest;
}
