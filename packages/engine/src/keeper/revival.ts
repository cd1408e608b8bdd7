import { type CallContext, type Instance } from '@davit/drivers';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import type { Attempts } from './attempts.ts';
import type { ProbeFailure } from './probe-conditions.ts';

/** An instance that ran so long before it ended is started again without a pause. */
const steadyMilliseconds = 60_000;
// What takes longer is held up, and is tried again.
const reviveSeconds = 120;

export interface RevivalInput {
  readonly parts: EngineParts;
  readonly driver: string;
  readonly attempts: Attempts;
  /** Ends calls after so many seconds, and when the keeper stops. */
  call(seconds: number): CallContext;
  /** Raises the condition of a liveness probe. `isFirst`: of this life of the instance; `pauseSeconds`: until it is restarted. */
  onUnlive(failure: ProbeFailure, told: { readonly isFirst: boolean; readonly pauseSeconds: number }): Promise<void>;
  /** Looks at the cluster; resolves after a look that began after this call. */
  lookAnew(): Promise<void>;
}

/**
 * Starts instances again: those that have ended, and those whose liveness probe fails. Pauses between two starts of an instance grow to a minute, as
 * a process that always fails must not keep the machine busy.
 */
export class Revival {
  readonly #input: RevivalInput;
  /** Instances whose liveness probe fails, by id: which life of theirs it was told of, and whether a restart is under way. */
  readonly #unlive = new Map<string, { readonly startedAt: string | null; isUnderWay: boolean }>();

  constructor(input: RevivalInput) {
    this.#input = input;
  }

  /** How long until an instance may be started again, in seconds; null: it was never started again. */
  pauseSeconds({ id }: Pick<Instance, 'id'>): number | null {
    return this.#input.attempts.pauseSeconds(keyOf(id));
  }

  /** Starts an instance that has ended, unless the cluster or another process of Davit has done so meanwhile. */
  async ofEnded(instance: Instance): Promise<void> {
    const ranLong =
      instance.startedAt !== null &&
      instance.exit !== null &&
      Date.parse(instance.exit.at) - Date.parse(instance.startedAt) > steadyMilliseconds;
    if (ranLong) this.#input.attempts.forget(keyOf(instance.id));
    await this.#revive(instance, ({ state }) => state !== 'RUNNING');
  }

  /**
   * Restarts an instance whose liveness probe fails, and resolves when that is seen, failed, or has to wait. Probes call it with each failure
   * until the instance has another life: so a restart that failed or came too early is done later.
   */
  async ofUnlive(failure: ProbeFailure): Promise<void> {
    const { instance, attempts } = failure;
    const former = this.#unlive.get(instance.id);
    if (former?.isUnderWay === true) return;
    const isFirst = former === undefined || former.startedAt !== instance.startedAt;
    const state = { startedAt: instance.startedAt, isUnderWay: true };
    this.#unlive.set(instance.id, state);
    if (isFirst)
      this.#input.parts.log.warn(
        { instance: instance.name, seen: attempts.at(-1) },
        'the liveness probe failed; the instance is restarted',
      );
    try {
      await this.#input.onUnlive(failure, { isFirst, pauseSeconds: this.pauseSeconds(instance) ?? 0 });
      // What ended meanwhile is started by whoever looks after ended instances.
      await this.#revive(instance, ({ state: now, startedAt }) => now === 'RUNNING' && startedAt === instance.startedAt);
      await this.#input.lookAnew();
    } finally {
      state.isUnderWay = false;
    }
  }

  /** Forgets instances that are gone. */
  forgetOthers(present: ReadonlySet<string>): void {
    for (const id of this.#unlive.keys()) if (!present.has(id)) this.#unlive.delete(id);
  }

  /** `isStill`: whether it is to be done, judged by the instance as it is now: what was done for others since it was seen may have taken minutes. */
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
