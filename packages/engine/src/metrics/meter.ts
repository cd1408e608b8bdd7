import { Leadership } from '@davit/db';
import type { VolumeUsage } from '@davit/drivers';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { pause } from '../shared/pause.ts';
import * as store from '../store/metrics.ts';
import { trimScalings } from '../store/scaling.ts';
import { Measurements, type InstanceSample } from './measured.ts';

/*
 * Measures what services of one kind of cluster use. One process of an installation does it: the one that holds a lock of the
 * database, which PostgreSQL takes away from it when it dies. What a pass found is stored at once, so a process that dies loses
 * what happened since its last pass and no more. The next one begins with counters that it has not seen: its first pass counts nothing.
 */

const tryLockEveryMilliseconds = 5_000;
const volumesEveryMilliseconds = 60_000;
/** Counting may take this part of the time: where there are many files, it comes less often. */
const mostCounting = 0.1;
const condenseEveryMilliseconds = 300_000;
const passTimeoutMilliseconds = 120_000;
/** After so many passes that failed a process leaves measuring to others. */
const mostFailures = 3;
/** Passes may take this part of the time at most: on a slow engine there are fewer. */
const mostBusy = 0.25;

/** What comes of a pass: each instance, and until when this process may act on it. */
export interface Pass {
  readonly samples: readonly InstanceSample[];
  /** Aborted when another process may measure from now on. */
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
  /** The one in which the measurements were made. */
  #term: AbortSignal | null = null;
  #measurements = new Measurements();
  #volumesAt = -Infinity;
  #isCounting = false;
  #counted: readonly VolumeUsage[] | null = null;
  #condensedAt = -Infinity;
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

  /** Begins to measure, unless the cluster cannot tell anything. */
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
          wait = Math.max(this.#everyMilliseconds, took / mostBusy) - took;
        }
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#parts.log.warn({ err: error, driver: this.#driver }, 'what services use could not be measured');
        failures += 1;
        if (failures >= mostFailures) wait = await this.#leave();
      }
      await pause(wait, this.#stop.signal);
    }
  }

  /** Another process may reach what this one does not. For how long that one is let try. */
  async #leave(): Promise<number> {
    await this.#leadership.release();
    return 2 * this.#tryEveryMilliseconds + this.#everyMilliseconds;
  }

  async #pass(term: AbortSignal): Promise<void> {
    // What was seen while it led before is too long ago to be the beginning of anything.
    if (term !== this.#term) this.#measurements = new Measurements();
    this.#term = term;
    const { database, gateways } = this.#parts;
    const { cluster, gateway } = driversOf(this.#parts, this.#driver);
    const signal = AbortSignal.any([term, AbortSignal.timeout(passTimeoutMilliseconds)]);
    const [usage, traffic] = await Promise.all([
      cluster.metrics?.usage(signal) ?? [],
      // A gateway that does not answer is its own supervisor's business.
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

  /** What was counted since the former pass. Counting many files takes longer than a pass, and goes on beside them. */
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
      if (!signal.aborted) this.#parts.log.warn({ err: error }, 'what volumes hold could not be counted');
    } finally {
      const took = performance.now() - began;
      this.#volumesAt = began + Math.max(volumesEveryMilliseconds, took / mostCounting);
      this.#isCounting = false;
    }
  }

  async #condense(): Promise<void> {
    if (performance.now() < this.#condensedAt) return;
    this.#condensedAt = performance.now() + condenseEveryMilliseconds;
    const { database } = this.#parts;
    await database.run(store.condenseMetrics);
    await database.run(store.trimMetrics);
    await database.run(store.trimTotals);
    await database.run(trimScalings);
  }
}
