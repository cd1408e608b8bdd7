import { pause } from '@davit/base';
import type { Instance, InstanceEvent } from '@davit/drivers';
import type { EngineParts } from '../shared/parts.ts';
import { ClusterFaults } from './cluster-faults.ts';
import { InstanceEnds, type EndWatchers } from './instance-ends.ts';
import type { KeptService } from './kept-service.ts';
import type { ClusterSnapshot } from './observer.ts';
import { noteFailedLiveness, noteUnready, type ProbeFailure } from './probe-conditions.ts';
import { PressureWatch } from './pressure-watch.ts';
import { servingInstances } from './running-status.ts';

// A fault must be reported within five seconds, and a kill for memory needs two passes.
const passEveryMilliseconds = 2_000;

export interface FaultWatchInput extends EndWatchers {
  readonly parts: EngineParts;
  readonly driver: string;
  readonly stop: AbortSignal;
  /** Returns the failed attempts of the probes of instances that are not ready. */
  unready(runtime: KeptService): readonly ProbeFailure[];
}

/**
 * Watches running services for faults and raises conditions: exits of instances, failing probes, reached limits. Only
 * the process that follows the output of the instances on a cluster does so.
 */
export class FaultWatch {
  readonly #input: FaultWatchInput;
  readonly #ends: InstanceEnds;
  readonly #cluster: ClusterFaults;
  readonly #pressure: PressureWatch;
  #term: AbortSignal | null = null;
  #seen: ClusterSnapshot | null = null;
  #passing: Promise<void> = Promise.resolve();

  constructor(input: FaultWatchInput) {
    this.#input = input;
    this.#ends = new InstanceEnds(input.parts, input, input.stop);
    this.#cluster = new ClusterFaults(input.parts, input.driver, input);
    this.#pressure = new PressureWatch(input.parts, input.driver);
  }

  start(): void {
    this.#passing = this.#pass();
  }

  /**
   * Takes the result of a look. `term` is aborted when this process may no longer watch; null if another process
   * watches.
   */
  async look(seen: ClusterSnapshot, term: AbortSignal | null): Promise<void> {
    this.#term = term;
    this.#seen = seen;
    if (term === null) return;
    this.#ends.note(seen);
    this.#cluster.note(seen);
    await noteUnready(this.#input.parts, seen, (runtime) => this.#input.unready(runtime));
  }

  /** Reports a failed liveness probe, before the instance is restarted. Each process detects the failure by itself. */
  async failedLiveness(
    failure: ProbeFailure,
    { isFirst, pauseSeconds }: { readonly isFirst: boolean; readonly pauseSeconds: number },
  ): Promise<void> {
    const isWatching = this.#term?.aborted === false;
    await noteFailedLiveness(this.#input.parts, failure, {
      others: this.#othersOf(failure.instance),
      occurrences: isWatching && isFirst ? 1 : 0,
      pauseSeconds,
    });
  }

  /** Reports a liveness probe on whose failure the cluster restarts an instance. */
  async notLive({ service, instance: id, attempts = [] }: InstanceEvent): Promise<void> {
    const seen = this.#seen;
    const instance = seen?.byService.get(service)?.find((one) => one.id === id);
    const runtime = seen?.runtimes.find(({ service_id }) => service_id === service);
    if (this.#term?.aborted !== false || instance === undefined || runtime === undefined) return;
    // The condition of a deployment that is under way belongs to that deployment.
    if (seen?.deploying.has(service) === true || instance.rollout !== runtime.rollout) return;
    await this.failedLiveness({ instance, attempts }, { isFirst: true, pauseSeconds: 0 });
    this.#input.onNoted();
  }

  /** Resolves when nothing is being recorded, once `stop` is aborted. */
  async settled(): Promise<void> {
    await this.#passing;
    await this.#ends.settled();
    await this.#cluster.settled();
  }

  #othersOf({ id, service }: Instance): number {
    const seen = this.#seen;
    const runtime = seen?.runtimes.find(({ service_id }) => service_id === service);
    if (seen === null || runtime === undefined) return 0;
    return servingInstances(runtime, seen).filter(
      (other) => other.id !== id && other.state === 'RUNNING' && this.#input.isReady(other),
    ).length;
  }

  async #pass(): Promise<void> {
    const { stop } = this.#input;
    while (!stop.aborted) {
      await pause(passEveryMilliseconds, stop);
      if (this.#term?.aborted === false && !stop.aborted && (await this.#pressure.look(stop))) this.#input.onNoted();
    }
  }
}
