import { hash } from 'node:crypto';

const minuteMilliseconds = 60_000;
// Beyond this number of keys in one minute, all further keys share one counter, so memory stays bounded under a flood.
const maxKeys = 100_000;
// Counts below this share of the limit are not reported to other processes. Otherwise, each address with a single
// request would be a row, and a flood would fill the table.
const unreportedShare = 1 / 20;
// A smaller difference between the clocks comes from the time that an exchange takes, and is not corrected.
const clockToleranceMilliseconds = 1000;

class Counter {
  readonly #key: string;
  #digest = '';
  count = 0;
  /** The count that the other processes can read. */
  reported = 0;

  constructor(key: string) {
    this.#key = key;
  }

  /**
   * The key's name in the exchange with other processes: 16 bytes in hexadecimal, so that collisions are negligible,
   * and tokens and addresses are not disclosed. Computed when first needed.
   */
  get digest(): string {
    if (this.#digest === '') this.#digest = hash('sha256', this.#key, 'hex').slice(0, 32);
    return this.#digest;
  }
}

/** Counts of requests. `keys` are digests, in the same order as `counts`. */
export interface Counts {
  /** Number of the minute, since 1970. */
  readonly minute: number;
  readonly keys: readonly string[];
  readonly counts: readonly number[];
}

/** The counts that this process reports to the others. */
export interface Report extends Counts {
  readonly counters: readonly Counter[];
}

/** The sums of the counts of all other processes. */
export interface OthersCounts extends Counts {
  /** The time of the database, in milliseconds since 1970. */
  readonly now: number;
}

/**
 * Counts requests per key (token, or address while the token is unknown), and begins anew with each minute of the
 * clock. So expiry clears one map, memory is bounded, and a request costs one look-up. The plugin `@fastify/rate-limit`
 * is not used: it takes one key per route before the token is known.
 *
 * Each process counts its own requests, and regularly merges the counts of the others (rate-limit-sharing.ts,
 * adr/0028). The clock is that of the database, which all processes share, and until it is known that of this machine.
 */
export class RateLimiter {
  readonly limit: number;
  readonly #counters = new Map<string, Counter>();
  readonly #overflow = new Counter('');
  /** Counts of other processes in this minute, by digest. */
  #others: ReadonlyMap<string, number> = new Map();
  #minute = 0;
  // Setting the clock of this machine would end a minute at once or prolong it, so it is read only once.
  #clockOffset = Date.now() - performance.now();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Counts one request. Returns the number of requests left, which is negative if the limit is exceeded. */
  take(key: string): number {
    this.#turn();
    const counter = this.#counter(key);
    counter.count += 1;
    return this.#left(counter);
  }

  /** Returns the number of requests left, without counting one. */
  peek(key: string): number {
    this.#turn();
    return this.#left(this.#counters.get(key) ?? new Counter(key));
  }

  /** Returns the seconds until the minute ends, 1 to 60. */
  secondsToReset(): number {
    return Math.ceil((minuteMilliseconds - (this.#now() % minuteMilliseconds)) / 1000);
  }

  /** Returns whether anything was counted in this minute. */
  isCounting(): boolean {
    this.#turn();
    return this.#counters.size > 0;
  }

  /** Returns the counts that the other processes do not know yet. Changes nothing: see `learn`. */
  report(): Report {
    this.#turn();
    const least = Math.max(1, Math.ceil(this.limit * unreportedShare));
    const isNew = ({ count, reported }: Counter): boolean => count >= least && count > reported;
    const counters = this.#counters.values().filter(isNew).toArray();
    return {
      minute: this.#minute,
      keys: counters.map(({ digest }) => digest),
      counts: counters.map(({ count }) => count),
      counters,
    };
  }

  /**
   * Ends an exchange: marks the reported counts as known to the others, merges theirs, and sets the clock. Counts of a
   * minute that is over are ignored.
   *
   * @param milliseconds The duration of the exchange. The clock is not set by a slow one.
   */
  learn(others: OthersCounts, report: Report, milliseconds: number): void {
    const difference = others.now - this.#now();
    if (milliseconds < clockToleranceMilliseconds && Math.abs(difference) > clockToleranceMilliseconds) {
      this.#clockOffset += difference;
    }
    this.#turn();
    if (others.minute !== this.#minute) return;
    this.#others = new Map(others.keys.map((key, index) => [key, others.counts[index] ?? 0]));
    if (report.minute !== this.#minute) return;
    for (const [index, counter] of report.counters.entries()) counter.reported = report.counts[index] ?? 0;
  }

  #now(): number {
    return performance.now() + this.#clockOffset;
  }

  #counter(key: string): Counter {
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      if (this.#counters.size >= maxKeys) return this.#overflow;
      counter = new Counter(key);
      this.#counters.set(key, counter);
    }
    return counter;
  }

  #left(counter: Counter): number {
    const others = this.#others.size === 0 ? 0 : (this.#others.get(counter.digest) ?? 0);
    return this.limit - counter.count - others;
  }

  #turn(): void {
    const minute = Math.floor(this.#now() / minuteMilliseconds);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#counters.clear();
    this.#overflow.count = 0;
    this.#others = new Map();
  }
}
