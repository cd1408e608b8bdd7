import type { ClusterDriver } from '@davit/drivers';
import { toFailure } from '../shared/failure.ts';
import type { ClusterState } from '../port.ts';

/** How long who asks for the state of a cluster waits for it. */
const askMilliseconds = 3_000;
/** An engine that has answered within this time and takes long now is slow, and not away. */
const slowMilliseconds = 60_000;

export const unknownState: ClusterState = { facts: null, failure: null, missingPermissions: [], upgrade: null };

interface Answered {
  readonly facts: NonNullable<ClusterState['facts']>;
  readonly at: number;
}

/** The states of clusters of this machine, with what was last known of those that do not answer now: limits are checked against that. */
export class FixedStates {
  readonly #answered = new Map<string, Answered>();
  readonly #askMilliseconds: number;

  constructor(milliseconds = askMilliseconds) {
    this.#askMilliseconds = milliseconds;
  }

  /** Never rejects: a failure is part of the state. */
  async ask(cluster: ClusterDriver, key: string): Promise<ClusterState> {
    const limit = AbortSignal.timeout(this.#askMilliseconds);
    try {
      const { engine, version, cpuMillicores, memoryMiB } = await cluster.describe(limit);
      const facts = { engine, version, cpuMillicores, memoryMiB };
      this.#answered.set(key, { facts, at: performance.now() });
      return { ...unknownState, facts };
    } catch (error) {
      const known = this.#answered.get(key);
      const isSlow = limit.aborted && known !== undefined && performance.now() - known.at < slowMilliseconds;
      return { ...unknownState, facts: known?.facts ?? null, failure: isSlow ? null : toFailure(error, key) };
    }
  }
}
