import type { Instance } from '@davit/drivers';
import type { EngineParts } from '../shared/parts.ts';
import { pause } from '../shared/pause.ts';
import { InstanceEnds, type EndWatchers } from './instance-ends.ts';
import type { Kept } from './kept.ts';
import type { Seen } from './observer.ts';
import { noteUnlive, noteUnready, type ProbeFailure } from './probe-conditions.ts';
import { PressureWatch } from './pressure-watch.ts';
import { servingInstances } from './running-status.ts';

// A fault is to be known within five seconds, and a kill for memory takes two passes.
const passEveryMilliseconds = 2_000;

export interface FaultWatchInput extends EndWatchers {
  readonly parts: EngineParts;
  readonly driver: string;
  readonly stop: AbortSignal;
  /** What the probes of instances that are not ready saw. */
  unready(runtime: Kept): readonly ProbeFailure[];
}

/**
 * Watches what runs for faults, and raises their conditions: ends of instances, probes that fail, limits that are reached. Of all processes that
 * keep a cluster the one that follows the output of instances does so.
 */
export class FaultWatch {
  readonly #input: FaultWatchInput;
  readonly #ends: InstanceEnds;
  readonly #pressure: PressureWatch;
  #term: AbortSignal | null = null;
  #seen: Seen | null = null;
  #passing: Promise<void> = Promise.resolve();

  constructor(input: FaultWatchInput) {
    this.#input = input;
    this.#ends = new InstanceEnds(input.parts, input, input.stop);
    this.#pressure = new PressureWatch(input.parts, input.driver);
  }

  start(): void {
    this.#passing = this.#pass();
  }

  /** What was seen in a look. `term`: as long as this process is the one that watches; null: another one does. */
  async look(seen: Seen, term: AbortSignal | null): Promise<void> {
    this.#term = term;
    this.#seen = seen;
    if (term === null) return;
    this.#ends.note(seen);
    await noteUnready(this.#input.parts, seen, (runtime) => this.#input.unready(runtime));
  }

  /** The liveness probe of an instance has failed, which is restarted after this. Each process finds that out for itself. */
  async unlive(
    failure: ProbeFailure,
    { isFirst, pauseSeconds }: { readonly isFirst: boolean; readonly pauseSeconds: number },
  ): Promise<void> {
    const isWatching = this.#term?.aborted === false;
    await noteUnlive(this.#input.parts, failure, {
      others: this.#othersOf(failure.instance),
      occurrences: isWatching && isFirst ? 1 : 0,
      pauseSeconds,
    });
  }

  /** Resolves when nothing is being noted any more, once `stop` is aborted. */
  async settled(): Promise<void> {
    await this.#passing;
    await this.#ends.settled();
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
