import { type CallContext, type Instance } from '@davit/drivers';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import type { Attempts } from './attempts.ts';
import type { ProbeFailure } from './probe-conditions.ts';

/** An instance that ran longer than this before it exited is restarted without a pause. */
const steadyMilliseconds = 60_000;
// Timeout of a restart. A restart that takes longer is stuck and is retried.
const reviveSeconds = 120;

export interface RevivalInput {
  readonly parts: EngineParts;
  readonly driver: string;
  readonly attempts: Attempts;
  /** Returns a context whose calls are aborted after this number of seconds, and when the keeper stops. */
  call(seconds: number): CallContext;
  /**
   * Raises the condition of a liveness probe. `isFirst`: this is the first failure since the instance was last started.
   * `pauseSeconds`: seconds until the restart.
   */
  onFailedLiveness(failure: ProbeFailure, details: { readonly isFirst: boolean; readonly pauseSeconds: number }): Promise<void>;
  /** Looks at the cluster, and resolves after a look that began after this call. */
  refresh(): Promise<void>;
}

/**
 * Restarts instances that have exited or whose liveness probe fails. The pauses between restarts of an instance grow to
 * a minute, so that a process that always fails does not keep the machine busy.
 */
export class Revival {
  readonly #input: RevivalInput;
  /**
   * Instances whose liveness probe fails, by id, with the start time for which the failure was reported and whether a
   * restart is under way.
   */
  readonly #failedLiveness = new Map<string, { readonly startedAt: string | null; isUnderWay: boolean }>();

  constructor(input: RevivalInput) {
    this.#input = input;
  }

  /** Returns the seconds until an instance may be restarted again; null if it was never restarted. */
  pauseSeconds({ id }: Pick<Instance, 'id'>): number | null {
    return this.#input.attempts.pauseSeconds(keyOf(id));
  }

  /** Restarts an instance that has exited, unless the cluster or another process of Davit has already done so. */
  async ofExit(instance: Instance): Promise<void> {
    const ranLong =
      instance.startedAt !== null &&
      instance.exit !== null &&
      Date.parse(instance.exit.at) - Date.parse(instance.startedAt) > steadyMilliseconds;
    if (ranLong) this.#input.attempts.forget(keyOf(instance.id));
    await this.#revive(instance, ({ state }) => state !== 'RUNNING');
  }

  /**
   * Restarts an instance whose liveness probe fails. Resolves when the restart was observed, failed or must wait.
   * Probes call this with each failure until the instance has a new start time, so a restart that failed or came too
   * early is done later.
   */
  async ofFailedLiveness(failure: ProbeFailure): Promise<void> {
    const { instance, attempts } = failure;
    const former = this.#failedLiveness.get(instance.id);
    if (former?.isUnderWay === true) return;
    const isFirst = former === undefined || former.startedAt !== instance.startedAt;
    const state = { startedAt: instance.startedAt, isUnderWay: true };
    this.#failedLiveness.set(instance.id, state);
    if (isFirst)
      this.#input.parts.log.warn(
        { instance: instance.name, seen: attempts.at(-1) },
        'the liveness probe failed; the instance is restarted',
      );
    try {
      await this.#input.onFailedLiveness(failure, { isFirst, pauseSeconds: this.pauseSeconds(instance) ?? 0 });
      // If the instance has exited meanwhile, `ofExit` restarts it.
      await this.#revive(instance, ({ state: now, startedAt }) => now === 'RUNNING' && startedAt === instance.startedAt);
      await this.#input.refresh();
    } finally {
      state.isUnderWay = false;
    }
  }

  /** Forgets instances that no longer exist. */
  forgetOthers(present: ReadonlySet<string>): void {
    for (const id of this.#failedLiveness.keys()) if (!present.has(id)) this.#failedLiveness.delete(id);
  }

  /**
   * @param isStill decides by the current state of the instance whether the restart is still needed: work for other
   * instances may have taken minutes since the look.
   */
  async #revive({ id, service, rollout }: Instance, isStill: (now: Instance) => boolean): Promise<void> {
    const { parts, driver, attempts } = this.#input;
    const { cluster } = driversOf(parts, driver);
    const revive = async (): Promise<void> => {
      const call = this.#input.call(reviveSeconds);
      const now = (await cluster.observe({ service, rollout }, call.signal)).find((instance) => instance.id === id);
      if (now !== undefined && isStill(now)) await cluster.revive(id, call);
    };
    await attempts.attempt(keyOf(id), revive, { always: true });
  }
}

function keyOf(instance: string): string {
  return `revive ${instance}`;
}
