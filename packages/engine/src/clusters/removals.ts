import { Semaphore } from '../shared/semaphore.ts';

const atOnce = 4;

/**
 * What is removed from clusters by this process. Each removal holds a transaction, and with it a connection of the pool, for as long as the cluster
 * takes, which may be minutes: so there are few at a time, and of what would only wait for another one's lock there is none.
 */
export class Removals {
  readonly #places = new Semaphore(atOnce);
  readonly #queues = new Map<string, { readonly turns: Semaphore; users: number }>();

  /** `place`: what only one removes at a time. Who is aborted while it waits leaves, with the reason of the signal. */
  async inTurn<T>(place: string, action: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const queue = this.#queues.get(place) ?? { turns: new Semaphore(1), users: 0 };
    this.#queues.set(place, queue);
    queue.users += 1;
    try {
      return await queue.turns.use(() => this.#places.use(action, signal), signal);
    } finally {
      queue.users -= 1;
      if (queue.users === 0) this.#queues.delete(place);
    }
  }
}
