/** Where a part of the metrics comes from: the database, a disk, the container engine. */
export interface SourceInput<Value> {
  readonly read: () => Promise<Value>;
  /** For so long a value is not read again, however often it is asked for; nor after a failure. */
  readonly keepMilliseconds: number;
  /** For so long the newest value stands in while the next one is read. Default: not at all. */
  readonly standsMilliseconds?: number;
  readonly onFailure: (error: unknown) => void;
}

/** For so long a scrape waits for a source; Prometheus gives up after ten seconds by default. */
export const patienceMilliseconds = 1000;

/**
 * Reads a source for scrapes: one reading at a time, remembered, and waited for no longer than a second. So a source that is away
 * costs a scrape its own series and nothing else, and many scrapes do not load it.
 */
export class Source<Value> {
  readonly #input: SourceInput<Value>;
  #reading: Promise<void> | null = null;
  #newest: { readonly value: Value; readonly at: number } | null = null;
  #readAt = -Infinity;

  constructor(input: SourceInput<Value>) {
    this.#input = input;
  }

  /** null: it did not answer in time, or failed. */
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
