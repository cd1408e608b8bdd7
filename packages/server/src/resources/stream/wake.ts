import { longestTimerMilliseconds } from '@davit/base';

/** Lets one waiter wait for news. News that arrives while nobody waits ends the next wait at once. */
export class Wake {
  #end: () => void = () => undefined;
  #isAwake = false;

  /** Reports news. */
  wake(): void {
    this.#isAwake = true;
    this.#end();
  }

  /** Waits for news, at most for the given time. */
  async wait(milliseconds: number): Promise<void> {
    if (!this.#isAwake) {
      // With many streams, an abort signal for each wait costs more than what is sent after it.
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(milliseconds, longestTimerMilliseconds));
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#end = () => undefined;
    }
    this.#isAwake = false;
  }
}
