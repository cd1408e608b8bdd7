import type { ClusterDriver } from '@davit/drivers';
import { toFailure } from '../shared/failure.ts';
import type { ClusterState } from '../port.ts';

/** Milliseconds that a caller waits for the state of a cluster. */
const askMilliseconds = 3_000;
/** An engine that responded within this time and takes long now is slow, but not unreachable. */
const slowMilliseconds = 60_000;

export const unknownState: ClusterState = { facts: null, failure: null, missingPermissions: [], upgrade: null };

interface Answered {
  readonly facts: NonNullable<ClusterState['facts']>;
  readonly at: number;
}

/**
 * The states of this machine's clusters. For unreachable clusters it keeps the last known facts, because limits are
 * checked against them.
 */
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
