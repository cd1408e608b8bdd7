import { pause } from '../shared/pause.ts';
import { Semaphore } from '../shared/semaphore.ts';

/*
 * What the runs of jobs load a cluster with, and how much of it at a time. Each cluster has turns of its own: one that is slow, away, or full of the
 * runs of one tenant keeps no other one waiting. Nothing here is held while a run runs, however long that is.
 */

// Many at midnight must not choke an engine or API server.
const changesAtOnce = 64;
const readsAtOnce = 64;
// Each is a few lists on Kubernetes, which takes 32 requests of Davit at a time for all that it does there (`kubernetes/client/api.ts`).
const looksAtOnce = 8;
// What takes longer waits for something itself (a node for its image, a scheduler for room, a process for its end), which is no load.
const longestTurnMilliseconds = 60_000;

/** So many at a time, the others in their order. Who takes long keeps nobody waiting for more than a while. */
export class Turns {
  readonly #places: Semaphore;
  readonly #longestMilliseconds: number;

  constructor(atOnce: number, longestMilliseconds = longestTurnMilliseconds) {
    this.#places = new Semaphore(atOnce);
    this.#longestMilliseconds = longestMilliseconds;
  }

  /** Answers what the action does. Who is aborted while it waits for its turn leaves, with the reason of the signal. */
  async use<T>(action: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { promise: acted, resolve } = Promise.withResolvers<{ readonly result: Promise<T> }>();
    await this.#places.use(async () => {
      const over = new AbortController();
      const result = action().finally(() => over.abort());
      resolve({ result });
      await Promise.race([result, pause(this.#longestMilliseconds, over.signal)]);
    }, signal);
    return (await acted).result;
  }
}

/** At one cluster. */
export interface RunTurns {
  /** To start instances, and to take them away. */
  readonly changes: Turns;
  /** To read what a run left: apart from the changes, as a cluster holds that for half a minute only. */
  readonly reads: Turns;
  /** To see how far a run is. */
  readonly looks: Turns;
}

export function createRunTurns(): RunTurns {
  return { changes: new Turns(changesAtOnce), reads: new Turns(readsAtOnce), looks: new Turns(looksAtOnce) };
}
