/** The part of a keeper that ends former instances. */
export interface Taker {
  /** Returns whether this process ends the former instances on the cluster now. */
  isTaking(): boolean;
  /** Ends the instances of these former rollouts soon. */
  take(rollouts: readonly string[]): void;
}

/**
 * Connects deployments with the keepers of the same process, which end former instances. Nothing is stored: which
 * instances have to end follows from what the cluster has and what should run. So after a crash, the process that then
 * keeps the cluster ends them.
 */
export class Handover {
  readonly #takers = new Map<string, Taker>();

  /** @param driver key of the cluster that the keeper keeps. */
  register(driver: string, taker: Taker): void {
    this.#takers.set(driver, taker);
  }

  unregister(driver: string, taker: Taker): void {
    if (this.#takers.get(driver) === taker) this.#takers.delete(driver);
  }

  /** Returns whether the keeper of this process ends the former instances on a cluster. */
  isTaken(driver: string): boolean {
    return this.#takers.get(driver)?.isTaking() === true;
  }

  /**
   * Hands former rollouts, which receive no new requests, over to the keeper of this process, which looks soon. Without
   * rollouts it only looks.
   */
  give(driver: string, rollouts: readonly string[]): void {
    this.#takers.get(driver)?.take(rollouts);
  }
}
