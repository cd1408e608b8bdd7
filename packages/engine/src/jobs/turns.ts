import { pause } from '@davit/base';
import { Semaphore } from '../shared/semaphore.ts';

/*
 * Limits the load that the runs of jobs put on a cluster. Each cluster has its own turns, so that a cluster that is
 * slow, unreachable or full of the runs of one tenant does not delay the others. No turn is held while a run runs,
 * however long that takes.
 */

// Many runs at midnight must not overload an engine or an API server.
const changesAtOnce = 64;
const readsAtOnce = 64;
// On Kubernetes each look takes a few list requests, and Davit sends at most 32 requests at a time there
// (`kubernetes/client/api.ts`).
const looksAtOnce = 8;
// An action that takes longer is waiting for something itself (a node for its image, a scheduler for capacity, a
// process for its exit), which causes no load.
const longestTurnMilliseconds = 60_000;

/**
 * Executes a limited number of actions at a time; others wait in order. An action that takes too long gives its slot
 * to the next one.
 */
export class Turns {
  readonly #slots: Semaphore;
  readonly #longestMilliseconds: number;

  constructor(atOnce: number, longestMilliseconds = longestTurnMilliseconds) {
    this.#slots = new Semaphore(atOnce);
    this.#longestMilliseconds = longestMilliseconds;
  }

  /**
   * Returns the result of the action. If the signal is aborted while the action waits for its turn, rejects with the
   * reason of the signal.
   */
  async use<T>(action: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { promise: acted, resolve } = Promise.withResolvers<{ readonly result: Promise<T> }>();
    await this.#slots.use(async () => {
      const over = new AbortController();
      const result = action().finally(() => over.abort());
      resolve({ result });
      await Promise.race([result, pause(this.#longestMilliseconds, over.signal)]);
    }, signal);
    return (await acted).result;
  }
}

/** The turns at one cluster. */
export interface RunTurns {
  /** For starting and removing instances. */
  readonly changes: Turns;
  /**
   * For reading the outputs of a run. Separate from changes, because a cluster keeps the outputs for only half a
   * minute.
   */
  readonly reads: Turns;
  /** For reading the state of a run. */
  readonly looks: Turns;
}

export function createRunTurns(): RunTurns {
  return { changes: new Turns(changesAtOnce), reads: new Turns(readsAtOnce), looks: new Turns(looksAtOnce) };
}
