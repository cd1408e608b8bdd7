import { pause } from '@davit/base';
import { Leadership } from '@davit/db';
import type { VolumeUsage } from '@davit/drivers';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import * as store from '../store/metrics.ts';
import { trimScalings } from '../store/scaling.ts';
import { Measurements, type InstanceSample } from './measured.ts';

/*
 * Measures the usage of services on one kind of cluster. One process of an installation does so: the one that holds a
 * database lock, which PostgreSQL releases when the process dies. The results of a pass are stored at once, so a
 * process that dies only loses what happened since its last pass. The next process has no earlier counters, so its
 * first pass counts nothing.
 */

const tryLockEveryMilliseconds = 5_000;
const volumesEveryMilliseconds = 60_000;
/** Maximum share of the time that counting volumes may take. With many files, they are counted less often. */
const maxCounting = 0.1;
const condenseEveryMilliseconds = 300_000;
const hoursEveryMilliseconds = 3_600_000;
const passTimeoutMilliseconds = 120_000;
/** Number of failed passes after which a process leaves measuring to others. */
const maxFailures = 3;
/** Maximum share of the time that passes may take. On a slow engine there are fewer passes. */
const maxBusy = 0.25;

/** The result of a pass, with a signal that limits how long this process may act on it. */
export interface Pass {
  readonly samples: readonly InstanceSample[];
  /** Aborted when another process may begin to measure. */
  readonly signal: AbortSignal;
}

export class Meter {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #everyMilliseconds: number;
  readonly #tryEveryMilliseconds: number;
  readonly #onPass: (pass: Pass) => void;
  readonly #stop = new AbortController();
  readonly #leadership: Leadership;
  /** The term of leadership to which `#measurements` belongs. */
  #term: AbortSignal | null = null;
  #measurements = new Measurements();
  #volumesAt = -Infinity;
  #isCounting = false;
  #counted: readonly VolumeUsage[] | null = null;
  #condensedAt = -Infinity;
  #hoursAt = -Infinity;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: EngineParts, driver: string, onPass: (pass: Pass) => void) {
    this.#parts = parts;
    this.#driver = driver;
    this.#onPass = onPass;
    this.#everyMilliseconds = parts.settings.metricsSeconds * 1000;
    this.#tryEveryMilliseconds = Math.min(this.#everyMilliseconds, tryLockEveryMilliseconds);
    this.#leadership = new Leadership({
      connectionString: parts.connectionString,
      name: `meter ${driver}`,
      tryEveryMilliseconds: this.#tryEveryMilliseconds,
    });
  }

  /** Starts measuring, unless the cluster provides no metrics. */
  start(): void {
    const { cluster } = driversOf(this.#parts, this.#driver);
    if (cluster.metrics !== undefined) this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#leadership.leave();
    await this.#running;
    await this.#leadership.release();
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#stop.signal.aborted;) {
      const began = performance.now();
      let wait = this.#tryEveryMilliseconds;
      try {
        const term = await this.#leadership.take();
        if (term !== null) {
          await this.#pass(term);
          failures = 0;
          const took = performance.now() - began;
          wait = Math.max(this.#everyMilliseconds, took / maxBusy) - took;
        }
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#parts.log.warn({ err: error, driver: this.#driver }, 'the resource usage of services could not be measured');
        failures += 1;
        if (failures >= maxFailures) wait = await this.#leave();
      }
      await pause(wait, this.#stop.signal);
    }
  }

  /**
   * Releases the leadership, because another process may reach what this one cannot. Returns the milliseconds for which
   * this process lets others try.
   */
  async #leave(): Promise<number> {
    await this.#leadership.release();
    return 2 * this.#tryEveryMilliseconds + this.#everyMilliseconds;
  }

  async #pass(term: AbortSignal): Promise<void> {
    // Counters from an earlier term are too old to be compared with.
    if (term !== this.#term) this.#measurements = new Measurements();
    this.#term = term;
    const { database, gateways } = this.#parts;
    const { cluster, gateway } = driversOf(this.#parts, this.#driver);
    const signal = AbortSignal.any([term, AbortSignal.timeout(passTimeoutMilliseconds)]);
    const [usage, traffic] = await Promise.all([
      cluster.metrics?.usage(signal) ?? [],
      // An unreachable gateway is handled by its own supervisor.
      gateway.traffic().catch(() => []),
    ]);
    const serviceOf = gateways[this.#driver]?.serviceByRoute() ?? new Map<string, string>();
    const { rows, samples } = this.#measurements.take({ usage, traffic, serviceOf, volumes: this.#volumes(term) });
    if (rows.length > 0) {
      const text = JSON.stringify(rows);
      await database.transaction(async (tx) => {
        await tx.run(store.addToMinute, [text]);
        await tx.run(store.addToTotals, [text]);
      });
    }
    await this.#condense();
    this.#onPass({ samples, signal: term });
  }

  /**
   * Returns the volumes counted since the previous pass; null if none were. Counting many files takes longer than a
   * pass and continues beside the passes.
   */
  #volumes(term: AbortSignal): readonly VolumeUsage[] | null {
    const counted = this.#counted;
    this.#counted = null;
    if (!this.#isCounting && performance.now() >= this.#volumesAt) {
      this.#isCounting = true;
      void this.#countVolumes(term);
    }
    return counted;
  }

  async #countVolumes(signal: AbortSignal): Promise<void> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    const began = performance.now();
    try {
      this.#counted = (await cluster.metrics?.volumes(signal)) ?? null;
    } catch (error) {
      if (!signal.aborted) this.#parts.log.warn({ err: error }, 'the disk usage of volumes could not be measured');
    } finally {
      const took = performance.now() - began;
      this.#volumesAt = began + Math.max(volumesEveryMilliseconds, took / maxCounting);
      this.#isCounting = false;
    }
  }

  async #condense(): Promise<void> {
    if (performance.now() < this.#condensedAt) return;
    this.#condensedAt = performance.now() + condenseEveryMilliseconds;
    const { database } = this.#parts;
    await database.run(store.condenseMetrics);
    await database.run(store.trimTotals);
    await database.run(trimScalings);
    if (performance.now() < this.#hoursAt) return;
    this.#hoursAt = performance.now() + hoursEveryMilliseconds;
    await database.run(store.condenseToHours);
    await database.run(store.trimMetrics);
  }
}
