import { Keeper } from './keeper/keeper.ts';
import { Meter } from './metrics/meter.ts';
import type { EngineParts } from './shared/parts.ts';
import type { ClusterHealth } from './port/platform.ts';
import { Scaler } from './scaling/scaler.ts';

interface Kept {
  readonly keeper: Keeper;
  readonly scaler: Scaler;
  readonly meter: Meter;
}

/** What goes on for each cluster as long as it is there: keeping, measuring, scaling. One that does not answer keeps no other waiting. */
export class KeepClusters {
  readonly #parts: EngineParts;
  readonly #kept = new Map<string, Kept>();

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  /** Resolves after the keeper's first look, or at once when the cluster cannot be reached; it goes on trying. */
  async start(key: string): Promise<void> {
    const keeper = new Keeper(this.#parts, key);
    const scaler = new Scaler(this.#parts, key, keeper);
    const meter = new Meter(this.#parts, key, (pass) => scaler.look(pass));
    this.#kept.set(key, { keeper, scaler, meter });
    await keeper.start();
    if (this.#kept.get(key)?.meter === meter) meter.start();
  }

  /** Looks now: what happened while it was away is not to wait for the next look. */
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

  /** `nameOf`: what a cluster is called, by its key. */
  health(nameOf: (key: string) => string): readonly ClusterHealth[] {
    const { clusters, drivers } = this.#parts;
    return [...this.#kept].flatMap(([key, { keeper }]) => {
      const set = drivers[key];
      // An installation that works without a container engine has nothing there that could be unreachable.
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

  /** Services without public ports can be deployed without it too; the first change of routes tries again and reports it. */
  async startGateway(key: string): Promise<void> {
    try {
      await this.#parts.drivers[key]?.gateway.start();
    } catch (error) {
      this.#parts.log.error({ err: error, driver: key }, 'the gateway could not be started');
    }
  }
}
