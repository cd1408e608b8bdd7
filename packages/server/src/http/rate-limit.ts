import { hash } from 'node:crypto';

const windowMilliseconds = 60_000;
// Beyond so many keys in one window, all others share one: memory stays bounded whoever floods.
const mostKeys = 100_000;
// What is counted below this share of the limit is not told: an address that came once would be a row, and flooding would fill the table.
const untoldShare = 1 / 20;
// By how much a window may end at another time than was known until it is one of another clock.
const trustMilliseconds = 5_000;

class Counter {
  readonly key: string;
  count = 0;
  /** What other processes have counted, of the lesson of that number. */
  others = 0;
  lesson = -1;
  /** Under which others know the key; made when it is first needed. */
  digest = '';

  constructor(key: string) {
    this.key = key;
  }
}

/** What a process has counted; keys as digests, of the same order as the counts. */
export interface Counts {
  readonly keys: readonly string[];
  readonly counts: readonly number[];
}

/** What others are to be told of a window. */
export interface OwnCounts extends Counts {
  /** The window's number; null: not known yet, as this process has heard nothing. */
  readonly minute: number | null;
  /** When it was looked up, as performance.now() has it. */
  readonly at: number;
}

/** What the other processes have counted together. */
export interface OthersCounts extends Counts {
  /** The number of the window that is, by the clock that is everybody's. */
  readonly minute: number;
  /** Of that window, when this was told. */
  readonly millisecondsLeft: number;
}

/**
 * Counts requests per key (token, or address before it is known) in fixed windows of a minute, which begin for all keys at the
 * same moment: so forgetting is clearing one map, memory is bounded, and a request costs one look-up. Not @fastify/rate-limit: it
 * takes one key per route before the token is known, and costs a request about 7 µs where this costs 3.
 *
 * Each process counts for itself, and learns from time to time what others have counted (rate-limit-sharing.ts, adr/0028). From then on windows
 * are those of the clock that all have in common; until then a window begins with a request.
 */
export class RateLimiter {
  readonly limit: number;
  readonly #least: number;
  readonly #counters = new Map<string, Counter>();
  readonly #overflow = new Counter('');
  /** Those that others do not know as they are. */
  readonly #untold = new Set<Counter>();
  /** Of this window, by digest. */
  #others: ReadonlyMap<string, number> = new Map();
  #lesson = 0;
  #minute: number | null = null;
  #endsAt = 0;
  // Of the latest call: one look at the clock a request.
  #now = 0;

  constructor(limit: number) {
    this.limit = limit;
    this.#least = Math.max(1, Math.ceil(limit * untoldShare));
  }

  /** Counts one request; how many are left, negative when it is one too many. */
  take(key: string): number {
    const counter = this.#counter(key);
    counter.count += 1;
    // The overflow of each process has other keys in it.
    if (counter.count >= this.#least && counter !== this.#overflow) this.#untold.add(counter);
    return this.limit - counter.count - this.#othersOf(counter);
  }

  /** How many are left, without counting. */
  peek(key: string): number {
    this.#turn();
    const counter = this.#counters.get(key) ?? new Counter(key);
    return this.limit - counter.count - this.#othersOf(counter);
  }

  /** Seconds until the window ends, at least one. */
  secondsToReset(): number {
    return Math.min(windowMilliseconds / 1000, Math.max(1, Math.ceil((this.#endsAt - this.#now) / 1000)));
  }

  /** Whether anything was counted in this window. */
  isCounting(): boolean {
    this.#turn();
    return this.#counters.size > 0;
  }

  /** What others do not know yet: at most so many keys, those that wait the longest. Changes nothing; see `learn`. */
  untold(most: number): OwnCounts {
    this.#turn();
    const told = this.#minute === null ? [] : this.#untold.values().take(most).toArray();
    return { minute: this.#minute, at: this.#now, keys: told.map(digestOf), counts: told.map(({ count }) => count) };
  }

  /**
   * Takes what others have counted, which replaces what was known of them, and the window's end. `told`: what they were told in the same
   * exchange. Counts of a window that is over by now are left out, and what was told of it.
   */
  learn(learnt: OthersCounts, told: OwnCounts): void {
    this.#turn();
    this.#align(learnt, told.at);
    if (this.#minute !== learnt.minute) return;
    this.#others = new Map(learnt.keys.map((key, index) => [key, learnt.counts[index] ?? 0]));
    this.#lesson += 1;
    if (told.minute !== learnt.minute) return;
    // Those told are still the first ones: others come behind them.
    const counters = this.#untold.values().take(told.keys.length).toArray();
    for (const [index, counter] of counters.entries()) {
      this.#untold.delete(counter);
      // Behind those that could not be told at once.
      if (counter.count !== told.counts[index]) this.#untold.add(counter);
    }
  }

  /**
   * The answer was given at some time between asking and now, so that it tells the window's end by that much; what was known is kept as far as it
   * fits, and an answer that was long under way moves nothing.
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
      // The others' clock was set, or this machine slept.
      if (ahead !== 0) this.#clear();
    }
    this.#minute = minute;
    this.#endsAt = latest;
  }

  #counter(key: string): Counter {
    this.#turn();
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      if (this.#counters.size >= mostKeys) return this.#overflow;
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
    // Not the time of day: a clock that is set would end a window at once, or prolong it for as long as it was set back.
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
    this.#untold.clear();
    this.#overflow.count = 0;
    this.#others = new Map();
    this.#lesson += 1;
  }
}

/** 16 bytes in hexadecimal: enough that no two keys meet, and no token or address in clear. */
function digestOf(counter: Counter): string {
  if (counter.digest === '') counter.digest = hash('sha256', counter.key, 'hex').slice(0, 32);
  return counter.digest;
}
