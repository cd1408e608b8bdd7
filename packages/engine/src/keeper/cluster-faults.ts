import { Loop } from '@davit/base';
import type { DriverError } from '@davit/drivers';
import { raiseCondition } from '../conditions/conditions.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { toFailure } from '../shared/failure.ts';
import type { KeptService } from './kept-service.ts';
import type { ClusterSnapshot } from './observer.ts';
import { servingInstances } from './running-status.ts';

const readTimeoutMilliseconds = 10_000;

/**
 * Raises conditions for services whose instances do not serve, with the reason that a cluster with `health` gives: a
 * probe fails, an image cannot be pulled, no node has room. The keeper clears them when all instances are ready.
 */
export class ClusterFaults {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #stop: AbortSignal;
  readonly #onNoted: () => void;
  readonly #loop: Loop;
  /** The newest snapshot, which the next reading is of. */
  #newest: ClusterSnapshot | null = null;

  /** `onNoted` is called after a condition has changed. */
  constructor(parts: EngineParts, driver: string, watchers: { readonly stop: AbortSignal; readonly onNoted: () => void }) {
    this.#parts = parts;
    this.#driver = driver;
    this.#stop = watchers.stop;
    this.#onNoted = watchers.onNoted;
    this.#loop = new Loop({
      look: async () => {
        if (this.#newest !== null && !this.#stop.aborted) await this.#read(this.#newest);
      },
      onError: (err) => {
        if (!this.#stop.aborted) parts.log.warn({ err, driver }, 'the reasons why instances do not serve could not be read');
      },
    });
  }

  /** Looks for the reasons without waiting for the cluster. */
  note(seen: ClusterSnapshot): void {
    this.#newest = seen;
    void this.#loop.wake();
  }

  /** Resolves when nothing is being recorded. */
  settled(): Promise<void> {
    return this.#loop.settled();
  }

  async #read(seen: ClusterSnapshot): Promise<void> {
    const { health } = driversOf(this.#parts, this.#driver).cluster;
    if (health === undefined) return;
    const down = seen.runtimes.flatMap((runtime) => {
      const { config, desired, service_id: service } = runtime;
      const isWatched = desired === 'RUNNING' && config !== null && this.#parts.kinds.of(config).hasLastingInstances;
      if (!isWatched || seen.deploying.has(service)) return [];
      const serving = servingInstances(runtime, seen);
      const instances = serving.filter(({ state, unready }) => state !== 'RUNNING' || unready === true);
      return instances.length === 0 ? [] : [{ runtime, instances, isDown: instances.length === serving.length }];
    });
    if (down.length === 0) return;
    const signal = AbortSignal.any([this.#stop, AbortSignal.timeout(readTimeoutMilliseconds)]);
    const ids = down.flatMap(({ instances }) => instances.map(({ id }) => id));
    const faults = await health.faults(ids, signal);
    let hasChanged = false;
    for (const { runtime, instances, isDown } of down) {
      const own = instances.flatMap(({ id, name }) => {
        const error = faults.get(id);
        return error === undefined ? [] : [{ name, error }];
      });
      hasChanged = (await this.#raise(runtime, own, isDown)) || hasChanged;
    }
    if (hasChanged) this.#onNoted();
  }

  async #raise(
    { service_id: serviceId, rollout }: KeptService,
    [first, ...more]: readonly { readonly name: string; readonly error: DriverError }[],
    isDown: boolean,
  ): Promise<boolean> {
    if (first === undefined || rollout === null) return false;
    const failure = toFailure(first.error, serviceId);
    const also = more.length === 0 ? '' : ` ${more.length} more do not serve either.`;
    const raised = await raiseCondition(this.#parts.database, {
      serviceId,
      rollout,
      kind: 'READINESS',
      severity: isDown ? 'ERROR' : 'WARNING',
      failure: { ...failure, message: `${failure.message}${also}` },
      instance: first.name,
      at: new Date().toISOString(),
      occurrences: 0,
      clearAfterSeconds: 0,
    });
    return raised !== null;
  }
}
