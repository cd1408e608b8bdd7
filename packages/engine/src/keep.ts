import { Keeper } from './keeper/keeper.ts';
import type { ExecutingParts } from './kinds/kinds.ts';
import { Meter } from './metrics/meter.ts';
import type { ClusterHealth } from './port/platform.ts';
import { Scaler } from './scaling/scaler.ts';

interface ClusterKeepers {
  readonly keeper: Keeper;
  readonly scaler: Scaler;
  readonly meter: Meter;
}

/**
 * Runs the keeper, the meter and the scaler of each cluster while the cluster exists. An unreachable cluster does not
 * delay the others.
 */
export class KeepClusters {
  readonly #parts: ExecutingParts;
  readonly #kept = new Map<string, ClusterKeepers>();

  constructor(parts: ExecutingParts) {
    this.#parts = parts;
  }

  /** Resolves after the keeper's first look, or at once if the cluster is unreachable; the keeper then keeps trying. */
  async start(key: string): Promise<void> {
    const keeper = new Keeper(this.#parts, key);
    const scaler = new Scaler(this.#parts, key, keeper);
    const meter = new Meter(this.#parts, key, (pass) => scaler.look(pass));
    this.#kept.set(key, { keeper, scaler, meter });
    await keeper.start();
    if (this.#kept.get(key)?.meter === meter) meter.start();
  }

  /**
   * Makes the keeper look now. Events from the time when the cluster was unreachable must not wait for the next look.
   */
  wake(key: string): void {
    void this.#kept.get(key)?.keeper.look();
  }

  async stop(key: string): Promise<void> {
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    if (kept === undefined) return;
    await Promise.all([kept.meter.stop(), kept.scaler.stop()]);
    await kept.keeper.stop();
  }

  /** Returns the health of the clusters. `nameOf`: returns the name of a cluster for its key. */
  health(nameOf: (key: string) => string): readonly ClusterHealth[] {
    const { clusters, drivers } = this.#parts;
    return [...this.#kept].flatMap(([key, { keeper }]) => {
      const set = drivers[key];
      // An installation without a container engine has nothing on this machine that could be unreachable.
      if (set === undefined || set.cluster.isAbsent === true) return [];
      return [
        {
          cluster: nameOf(key),
          isReachable: clusters.awayFor(key) > 0 ? false : keeper.isSeen,
          keeperLagSeconds: keeper.lagSeconds,
          isGatewayUp: set.gateway.isUp?.() ?? null,
        },
      ];
    });
  }

  /**
   * Starts the gateway. Failures are only logged, because services without public ports can be deployed without a
   * gateway. The next change of routes tries again and reports the failure.
   */
  async startGateway(key: string): Promise<void> {
    try {
      await this.#parts.drivers[key]?.gateway.start();
    } catch (error) {
      this.#parts.log.error({ err: error, driver: key }, 'the gateway could not be started');
    }
  }
}
