import type { ClusterDescription, ClusterScaling, WantedInstances } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { scaledServices, type ScaledRow } from '../store/scaling.ts';
import { ownerOf } from '../workload/owner.ts';
import { isScaled, letDecide, markOf, instancesThatFit, withinLimits } from './by-cluster.ts';

// Somebody else may have changed the scaling objects, and checking costs some requests for each service. A missing
// component of the cluster may be installed at any time.
const sendAgainMilliseconds = 300_000;

/**
 * Reads the numbers of instances from a cluster that decides them, for the one process that scales. Also sends the
 * settings to the cluster that a deployment normally sends: for services that ran before the cluster could decide, and
 * after a crash.
 */
export class ClusterNumbers {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #onChange: () => void;
  /** When the settings of a service were last sent, and whether the cluster has decided on the service since. */
  readonly #sent = new Map<string, { readonly at: number; readonly decides: boolean }>();
  #watching: Promise<void> | null = null;

  constructor(parts: EngineParts, driver: string, onChange: () => void) {
    this.#parts = parts;
    this.#driver = driver;
    this.#onChange = onChange;
  }

  /** Waits for the end of the watch, which ends with the signal of the `read` that started it. */
  async stop(): Promise<void> {
    await this.#watching;
  }

  /**
   * Returns the number of instances that the cluster wants, by service; null if the cluster should decide but has not
   * yet. Davit decides on services that are missing in the result.
   */
  async read(rows: readonly ScaledRow[], signal: AbortSignal): Promise<ReadonlyMap<string, number | null>> {
    const { scaling } = driversOf(this.#parts, this.#driver).cluster;
    const scaled = rows.filter(({ config }) => isScaled(config));
    if (scaling === undefined || scaled.length === 0) return new Map();
    try {
      return await this.#readAll(scaling, scaled, signal);
    } catch (error) {
      if (!signal.aborted) this.#parts.log.warn({ err: error, driver: this.#driver }, 'numbers of instances could not be read');
      // It is unknown who decides, so nobody does until it is known.
      return new Map(scaled.map((row) => [row.service_id, null]));
    }
  }

  async #readAll(
    scaling: ClusterScaling,
    rows: readonly ScaledRow[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number | null>> {
    const known = new Map((await scaling.wanted(signal)).map((one) => [one.service, one]));
    const capacity = this.#capacity(signal);
    if (known.size > 0) this.#watch(scaling, signal);
    const numbers = new Map<string, number | null>();
    for (const row of rows) {
      const found = known.get(row.service_id);
      const decides = await this.#sendSettings(row, found, signal);
      if (found === undefined && !decides && row.config.scaling?.events === undefined) continue;
      const number = found === undefined ? null : withinLimits(found.instances, row.config, await capacity(found, row.config));
      numbers.set(row.service_id, number);
      const running = row.running_instances ?? row.settled_instances;
      if (found !== undefined && found.running !== running)
        await scaling.report({ environment: row.environment_id, service: row.service_id }, running, signal);
    }
    return numbers;
  }

  /**
   * Returns a function that limits a number to the capacity of the cluster. The capacity is requested once, and only if
   * nothing else limits the number.
   */
  #capacity(signal: AbortSignal): (found: WantedInstances, config: ReleaseConfig) => Promise<number> {
    let requested: Promise<ClusterDescription> | undefined;
    return async ({ instances }, config) => {
      if ((config.scaling?.most ?? null) !== null || instances <= config.instances) return instances;
      requested ??= driversOf(this.#parts, this.#driver).cluster.describe(signal);
      return instancesThatFit(config, await requested);
    };
  }

  /**
   * Sends the settings of a service to the cluster if necessary. Returns whether the cluster decides on the service.
   */
  async #sendSettings(row: ScaledRow, found: WantedInstances | undefined, signal: AbortSignal): Promise<boolean> {
    const { service_id: service, rollout, config, instances } = row;
    const { metricsSeconds, scaleDownSeconds } = this.#parts.settings;
    const sent = this.#sent.get(service);
    const isCurrent = found === undefined ? sent?.decides === false : found.mark === markOf(row, scaleDownSeconds);
    const again = found === undefined ? 4_000 * metricsSeconds : sendAgainMilliseconds;
    if (isCurrent && (sent?.at ?? -Infinity) > performance.now() - again) return found !== undefined;
    const owner = ownerOf(this.#parts, row);
    try {
      // Sending the settings of many services takes time. A service that was stopped or deployed meanwhile is skipped;
      // otherwise its scaling object would stay forever.
      const [now] = await this.#parts.database.many(scaledServices, [this.#driver, service]);
      if (now?.rollout !== rollout) return found !== undefined;
      const decides = await letDecide(this.#parts, this.#driver, { owner, rollout, config, instances }, signal);
      this.#sent.set(service, { at: performance.now(), decides });
      return decides;
    } catch (error) {
      if (!signal.aborted)
        this.#parts.log.warn({ err: error, service }, 'the scaling of a service could not be set on its cluster');
      return found !== undefined;
    }
  }

  /** Watches the numbers. An error (the cluster is unreachable) ends the watch until the next look. */
  #watch(scaling: ClusterScaling, signal: AbortSignal): void {
    this.#watching ??= scaling
      .watch(this.#onChange, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#parts.log.info({ err: error, driver: this.#driver }, 'numbers of instances are not watched');
      })
      .finally(() => {
        this.#watching = null;
      });
  }
}
