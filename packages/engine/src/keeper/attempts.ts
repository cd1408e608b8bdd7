import { backoffMilliseconds } from '@davit/base';
import type { EngineParts } from '../shared/parts.ts';

const firstBackoffMilliseconds = 1_000;
const maximumBackoffMilliseconds = 60_000;

interface Trouble {
  readonly failures: number;
  /** In milliseconds since the process began: clocks of machines are set. */
  readonly nextAt: number;
}

/** What is done again and again until it works, each with pauses that grow from one second to one minute. */
export class Attempts {
  readonly #log: EngineParts['log'];
  readonly #stop: AbortSignal;
  readonly #onDue: () => void;
  readonly #trouble = new Map<string, Trouble>();
  readonly #timers = new Set<NodeJS.Timeout>();

  /** `onDue`: called when something may be tried again. Aborting `stop` ends that. */
  constructor(log: EngineParts['log'], stop: AbortSignal, onDue: () => void) {
    this.#log = log;
    this.#stop = stop;
    this.#onDue = onDue;
    stop.addEventListener('abort', () => this.#timers.forEach((timer) => clearTimeout(timer)), { once: true });
  }

  /**
   * Does something unless it is too soon after it was done the last time; a failure is in the log. `always`: also a success delays the
   * next one. Whether it is done.
   */
  async attempt(key: string, action: () => Promise<void>, { always = false } = {}): Promise<boolean> {
    const trouble = this.#trouble.get(key);
    if (trouble !== undefined && performance.now() < trouble.nextAt) return false;
    const failures = (trouble?.failures ?? 0) + 1;
    try {
      await action();
      if (always) this.#remember(key, failures);
      else this.#trouble.delete(key);
      return true;
    } catch (error) {
      if (this.#stop.aborted) return false;
      this.#remember(key, failures);
      this.#log.warn({ err: error, what: key }, 'the keeper could not do what is needed; it tries again');
      return false;
    }
  }

  /** How long until it may be done again, in seconds; null: it was never done. */
  pauseSeconds(key: string): number | null {
    const trouble = this.#trouble.get(key);
    return trouble === undefined ? null : Math.max(0, (trouble.nextAt - performance.now()) / 1_000);
  }

  /** Its next attempt is a first one. */
  forget(key: string): void {
    this.#trouble.delete(key);
  }

  #remember(key: string, failures: number): void {
    const pause = backoffMilliseconds(failures, firstBackoffMilliseconds, maximumBackoffMilliseconds);
    this.#trouble.set(key, { failures, nextAt: performance.now() + pause });
    if (this.#stop.aborted) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#onDue();
    }, pause + 10);
    this.#timers.add(timer);
  }
}
