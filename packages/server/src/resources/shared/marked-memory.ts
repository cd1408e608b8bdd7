interface Entry<Value> {
  readonly mark: string;
  readonly value: Value;
}

/**
 * Keeps values that were computed from rows, as long as the mark of these rows stays the same (see `markOf`). If the
 * values become too large together, those that were not used for the longest time are dropped.
 */
export class MarkedMemory<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #most: number;
  readonly #sizeOf: (value: Value) => number;
  #size = 0;

  /** `most`: limit for the sum of the sizes of all values. */
  constructor(most: number, sizeOf: (value: Value) => number) {
    this.#most = most;
    this.#sizeOf = (value) => 1 + sizeOf(value);
  }

  /** Returns the value, or undefined if there is none or its rows have another mark now. */
  get(id: string, mark: string): Value | undefined {
    const entry = this.#entries.get(id);
    if (entry?.mark !== mark) return undefined;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry.value;
  }

  set(id: string, mark: string, value: Value): void {
    this.forget(id);
    this.#entries.set(id, { mark, value });
    this.#size += this.#sizeOf(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#most) return;
      this.forget(oldest);
    }
  }

  forget(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#size -= this.#sizeOf(entry.value);
  }
}
