export interface LoopOptions {
  /** Does the work once. Two looks of a loop never overlap. */
  readonly look: () => Promise<unknown>;
  /** Receives the failure of a look. The loop continues. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds between two looks that nobody asked for. Omitted: the loop only looks when it is woken. */
  readonly everyMilliseconds?: number;
  /** If true, the timer alone does not keep the process running. Default: false. */
  readonly unref?: boolean;
}

/**
 * Repeats a piece of work: periodically after `start`, and whenever `wake` is called.
 *
 * - Looks never overlap. Any number of calls of `wake` during a look cause exactly one more look, right after it. The
 *   timer skips its turn during a look, so that a look that takes longer than the interval does not repeat without a
 *   pause.
 * - A look that fails is reported to `onError` and does not end the loop.
 * - `stop` is final: no look begins afterwards.
 */
export class Loop {
  readonly #options: LoopOptions;
  readonly #stop = new AbortController();
  #timer: ReturnType<typeof setInterval> | undefined;
  #looking: Promise<void> | null = null;
  /** The look that follows the running one, if it is asked for. */
  #next: PromiseWithResolvers<void> | null = null;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Aborted by `stop`. Looks that take long end early when it aborts. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get isLooking(): boolean {
    return this.#looking !== null;
  }

  /** Starts the timer. The first look comes after the interval, or with `wake`. Repeated calls do nothing. */
  start(): void {
    const { everyMilliseconds, unref } = this.#options;
    if (everyMilliseconds === undefined || this.#timer !== undefined || this.signal.aborted) return;
    this.#timer = setInterval(() => {
      if (!this.isLooking) void this.wake();
    }, everyMilliseconds);
    if (unref === true) this.#timer.unref();
  }

  /**
   * Looks now, or right after the running look. Works without `start`. The promise resolves when a look that began
   * after this call has ended, whether it succeeded or failed, or when the loop is stopped.
   */
  wake(): Promise<void> {
    if (this.signal.aborted) return Promise.resolve();
    if (this.#looking !== null) {
      this.#next ??= Promise.withResolvers();
      return this.#next.promise;
    }
    this.#looking = this.#look();
    return this.#looking;
  }

  /** Begins no further look, and waits for the running one. May be called repeatedly, but not by a look itself. */
  stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    return this.settled();
  }

  /** Resolves when no look is running or asked for. */
  async settled(): Promise<void> {
    while (this.#looking !== null) await this.#looking;
  }

  async #look(): Promise<void> {
    try {
      // A look that throws before its first pause must not end before `wake` has noted that it runs.
      await new Promise((resolve) => {
        resolve(this.#options.look());
      });
    } catch (error) {
      this.#options.onError(error);
    } finally {
      const next = this.#next;
      this.#looking = null;
      this.#next = null;
      next?.resolve(this.wake());
    }
  }
}
