import { backoffMilliseconds } from '@davit/base';
import type { EngineParts } from '../shared/parts.ts';

const firstBackoffMilliseconds = 1_000;
const maximumBackoffMilliseconds = 60_000;

interface Trouble {
  readonly failures: number;
  /**
   * Time of the next attempt in milliseconds since the process began, because the clock of a machine may be changed.
   */
  readonly nextAt: number;
}

/** Repeats failing actions until they succeed, with pauses that grow from one second to one minute. */
export class Attempts {
  readonly #log: EngineParts['log'];
  readonly #stop: AbortSignal;
  readonly #onDue: () => void;
  readonly #trouble = new Map<string, Trouble>();
  readonly #timers = new Set<NodeJS.Timeout>();

  /** @param onDue is called when an action may be retried. Aborting `stop` ends these calls. */
  constructor(log: EngineParts['log'], stop: AbortSignal, onDue: () => void) {
    this.#log = log;
    this.#stop = stop;
    this.#onDue = onDue;
    stop.addEventListener('abort', () => this.#timers.forEach((timer) => clearTimeout(timer)), { once: true });
  }

  /**
   * Executes an action unless its pause has not elapsed yet. A failure is logged. With `always`, a success is followed
   * by a pause too. Returns whether the action succeeded.
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
      this.#log.warn({ err: error, what: key }, 'an action of the keeper failed; trying again');
      return false;
    }
  }

  /** Returns the seconds until the action may be executed again; null if no pause is recorded for it. */
  pauseSeconds(key: string): number | null {
    const trouble = this.#trouble.get(key);
    return trouble === undefined ? null : Math.max(0, (trouble.nextAt - performance.now()) / 1_000);
  }

  /** Forgets earlier attempts, so that the next one counts as the first. */
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
