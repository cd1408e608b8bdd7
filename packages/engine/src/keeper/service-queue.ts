import { pause } from '@davit/base';
import type { EngineParts } from '../shared/parts.ts';

// Milliseconds to wait for an action. Most actions finish within this time, so that the gateway update in the same look
// includes them.
const patienceMilliseconds = 2_000;
// An abort without a reason makes an error with a stack, which is most of what a look at an unchanged service costs.
const hasEnded = 'the action has ended';

/**
 * Executes actions for services, one at a time for each service. A slow action continues beside the looks, so that an
 * instance that does not exit or does not start delays no other service.
 */
export class ServiceQueue {
  readonly #log: EngineParts['log'];
  readonly #stop: AbortSignal;
  readonly #onLate: () => void;
  readonly #underWay = new Map<string, Promise<unknown>>();

  /** @param onLate is called when an action finishes after `run` has stopped waiting for it. */
  constructor(log: EngineParts['log'], stop: AbortSignal, onLate: () => void) {
    this.#log = log;
    this.#stop = stop;
    this.#onLate = onLate;
  }

  /**
   * Executes an action, unless one is under way for the service. Resolves when the action has finished or takes long.
   * Rejects if the action fails before that; later failures are logged.
   */
  async run(service: string, action: () => Promise<unknown>): Promise<void> {
    if (this.#underWay.has(service)) return;
    const ended = new AbortController();
    let isLate = false;
    const done = action().finally(() => {
      this.#underWay.delete(service);
      ended.abort(hasEnded);
    });
    const afterwards = done
      .catch((error: unknown) => {
        if (isLate && !this.#stop.aborted) this.#log.warn({ err: error, service }, 'the keeper could not check a service');
      })
      .finally(() => {
        if (isLate) this.#onLate();
      });
    this.#underWay.set(service, afterwards);
    await Promise.race([done, pause(patienceMilliseconds, ended.signal)]);
    isLate = this.#underWay.get(service) === afterwards;
  }

  /** Resolves when no action is under way. Actions end by themselves once `stop` is aborted. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }
}
