import type { EngineParts } from '../shared/parts.ts';
import { pause } from '../shared/pause.ts';

// Most of what is done is done by then, and what is told to the gateway in the same look has it.
const patienceMilliseconds = 2_000;

/**
 * What is done for services, one thing at a time for each. What takes long goes on beside the looks: an instance that does not end, or
 * is not started, keeps no other service waiting.
 */
export class Tending {
  readonly #log: EngineParts['log'];
  readonly #stop: AbortSignal;
  readonly #onLate: () => void;
  readonly #underWay = new Map<string, Promise<unknown>>();

  /** `onLate`: called when something has ended that nobody waited for any more. */
  constructor(log: EngineParts['log'], stop: AbortSignal, onLate: () => void) {
    this.#log = log;
    this.#stop = stop;
    this.#onLate = onLate;
  }

  /**
   * Does this, unless something is under way for the service. Resolves when it is done or takes long; rejects with what it fails with
   * until then. What fails later is in the log.
   */
  async tend(service: string, action: () => Promise<unknown>): Promise<void> {
    if (this.#underWay.has(service)) return;
    const ended = new AbortController();
    let isLate = false;
    const done = action().finally(() => {
      this.#underWay.delete(service);
      ended.abort();
    });
    const afterwards = done
      .catch((error: unknown) => {
        if (isLate && !this.#stop.aborted) this.#log.warn({ err: error, service }, 'the keeper could not look after a service');
      })
      .finally(() => {
        if (isLate) this.#onLate();
      });
    this.#underWay.set(service, afterwards);
    await Promise.race([done, pause(patienceMilliseconds, ended.signal)]);
    isLate = this.#underWay.get(service) === afterwards;
  }

  /** Resolves when nothing is under way any more. What goes on ends by itself when it is told to stop. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }
}
