const windowMilliseconds = 60_000;
// Beyond so many keys in one window, all others share one: memory stays bounded whoever floods.
const mostKeys = 100_000;

interface Counter {
  count: number;
}

/**
 * Counts requests per key (token, or address before it is known) in fixed windows of a minute, which begin for all keys at the
 * same moment: so forgetting is clearing one map, memory is bounded, and a request costs one look-up. Not @fastify/rate-limit: it
 * takes one key per route before the token is known, and costs a request about 7 µs where this costs 3. Each process counts for itself.
 */
export class RateLimiter {
  readonly limit: number;
  readonly #counters = new Map<string, Counter>();
  readonly #overflow: Counter = { count: 0 };
  #endsAt = 0;
  // Of the latest call: one look at the clock a request.
  #now = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Counts one request; how many are left, negative when it is one too many. */
  take(key: string): number {
    const counter = this.#counter(key);
    counter.count += 1;
    return this.limit - counter.count;
  }

  /** How many are left, without counting. */
  peek(key: string): number {
    this.#turn();
    return this.limit - (this.#counters.get(key)?.count ?? 0);
  }

  /** Seconds until the window ends, at least one. */
  secondsToReset(): number {
    return Math.max(1, Math.ceil((this.#endsAt - this.#now) / 1000));
  }

  #counter(key: string): Counter {
    this.#turn();
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      if (this.#counters.size >= mostKeys) return this.#overflow;
      counter = { count: 0 };
      this.#counters.set(key, counter);
    }
    return counter;
  }

  #turn(): void {
    // Not the time of day: a clock that is set would end a window at once, or prolong it for as long as it was set back.
    this.#now = performance.now();
    if (this.#now < this.#endsAt) return;
    this.#counters.clear();
    this.#overflow.count = 0;
    this.#endsAt = this.#now + windowMilliseconds;
  }
}
