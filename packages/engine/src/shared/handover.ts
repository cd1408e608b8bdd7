/** The keeper of a cluster, as the part that ends former instances. */
export interface HandoverReceiver {
  /** Whether this process ends the former instances on the cluster now. */
  isActive(): boolean;
  /** Ends the instances of these former rollouts soon. */
  receive(rollouts: readonly string[]): void;
}

/**
 * Connects deployments with the keepers of the same process, which end former instances. Nothing is stored: which
 * instances have to end follows from what the cluster has and what should run. So after a crash, the process that then
 * keeps the cluster ends them.
 */
export class Handover {
  readonly #receivers = new Map<string, HandoverReceiver>();

  /** @param driver key of the cluster that the keeper keeps. */
  register(driver: string, receiver: HandoverReceiver): void {
    this.#receivers.set(driver, receiver);
  }

  unregister(driver: string, receiver: HandoverReceiver): void {
    if (this.#receivers.get(driver) === receiver) this.#receivers.delete(driver);
  }

  /** Returns whether the keeper of this process ends the former instances on a cluster. */
  hasReceiver(driver: string): boolean {
    return this.#receivers.get(driver)?.isActive() === true;
  }

  /**
   * Hands former rollouts, which receive no new requests, over to the keeper of this process, which looks soon. Without
   * rollouts it only looks.
   */
  handOver(driver: string, rollouts: readonly string[]): void {
    this.#receivers.get(driver)?.receive(rollouts);
  }
}
