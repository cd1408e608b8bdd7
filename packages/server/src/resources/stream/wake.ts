import { pause } from '@davit/base';

/** Lets one waiter wait for news. News that arrives while nobody waits ends the next wait at once. */
export class Wake {
  #abort: () => void = () => undefined;
  #isAwake = false;

  /** Reports news. */
  wake(): void {
    this.#isAwake = true;
    this.#abort();
  }

  /** Waits for news, at most for the given time. */
  async wait(milliseconds: number): Promise<void> {
    if (!this.#isAwake) {
      const woken = new AbortController();
      this.#abort = () => woken.abort();
      await pause(milliseconds, woken.signal);
      this.#abort = () => undefined;
    }
    this.#isAwake = false;
  }
}
