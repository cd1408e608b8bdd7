/** A source of metrics: the database, a disk, the container engine. */
export interface SourceInput<Value> {
  readonly read: () => Promise<Value>;
  /** Milliseconds for which a value is not read again, however often it is requested; also after a failure. */
  readonly keepMilliseconds: number;
  /** Milliseconds for which the latest value is returned while a slow read is running. Default: 0. */
  readonly standsMilliseconds?: number;
  readonly onFailure: (error: unknown) => void;
}

/** Milliseconds that a scrape waits for a source; Prometheus gives up after ten seconds by default. */
export const patienceMilliseconds = 1000;

/**
 * Reads a source for scrapes. Reads do not overlap, their result is cached, and a scrape waits for one no longer than a
 * second. So an unreachable source removes only its own series from a scrape, and frequent scrapes do not load the
 * source.
 */
export class Source<Value> {
  readonly #input: SourceInput<Value>;
  #reading: Promise<void> | null = null;
  #newest: { readonly value: Value; readonly at: number } | null = null;
  #readAt = -Infinity;

  constructor(input: SourceInput<Value>) {
    this.#input = input;
  }

  /** Returns the value; null if the source did not respond in time, or failed. */
  async get(): Promise<{ readonly value: Value } | null> {
    if (performance.now() - this.#readAt >= this.#input.keepMilliseconds) this.#reading ??= this.#read();
    if (this.#reading === null) return this.#newest;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), patienceMilliseconds);
    });
    const end = await Promise.race([this.#reading, late]);
    clearTimeout(timer);
    if (end !== 'late') return this.#newest;
    const age = performance.now() - (this.#newest?.at ?? -Infinity);
    return age < (this.#input.standsMilliseconds ?? 0) ? this.#newest : null;
  }

  async #read(): Promise<void> {
    try {
      const value = await this.#input.read();
      this.#newest = { value, at: performance.now() };
    } catch (error) {
      this.#newest = null;
      this.#input.onFailure(error);
    }
    this.#readAt = performance.now();
    this.#reading = null;
  }
}
