import { Semaphore } from '../shared/semaphore.ts';

const atOnce = 4;

/**
 * The removals from clusters by this process. Each removal holds a transaction, and with it a connection of the pool,
 * for as long as the cluster takes, which may be minutes. Their number is therefore limited, and a removal that would
 * only wait for another one's lock is not begun.
 */
export class Removals {
  readonly #slots = new Semaphore(atOnce);
  readonly #queues = new Map<string, { readonly turns: Semaphore; users: number }>();

  /**
   * Runs the removal in turn. `place`: key under which only one removal runs at a time. A waiting caller whose signal
   * aborts leaves the queue, with the reason of the signal.
   */
  async inTurn<T>(location: string, action: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const queue = this.#queues.get(location) ?? { turns: new Semaphore(1), users: 0 };
    this.#queues.set(location, queue);
    queue.users += 1;
    try {
      return await queue.turns.use(() => this.#slots.use(action, signal), signal);
    } finally {
      queue.users -= 1;
      if (queue.users === 0) this.#queues.delete(location);
    }
  }
}
