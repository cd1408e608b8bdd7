import { abortable } from '@davit/base';
import type { Instance } from '@davit/drivers';
import { crashPoint } from '../shared/crash-point.ts';
import { driversOf } from '../shared/parts.ts';
import { terminationGrace } from '../workload/workload.ts';
import { retireSeconds, type KeepTools } from './keep-tools.ts';
import type { KeptService } from './kept-service.ts';
import type { ClusterSnapshot } from './observer.ts';

/**
 * Ends the instances of former rollouts: waits for their open requests, then stops and removes them. Later deployments
 * of the environment run meanwhile. This is safe without a record and without a lock, because a rollout that was
 * replaced never becomes the current one again: a rollback or a restart is a new rollout. After a crash, the next look
 * of some process begins the interrupted ends again.
 */
export class FormerInstances {
  readonly #tools: Pick<KeepTools, 'parts' | 'driver' | 'attempts' | 'call' | 'stop'>;
  readonly #onEnded: () => void;
  /** Rollouts that deployments of this process have handed over. */
  readonly #received = new Set<string>();
  /** The ends under way, by rollout. */
  readonly #underWay = new Map<string, Promise<void>>();

  /** @param onEnded is called after the instances of a rollout are gone. */
  constructor(tools: Pick<KeepTools, 'parts' | 'driver' | 'attempts' | 'call' | 'stop'>, onEnded: () => void) {
    this.#tools = tools;
    this.#onEnded = onEnded;
  }

  /** Takes over rollouts from a deployment of this process. */
  receive(rollouts: readonly string[]): void {
    for (const rollout of rollouts) this.#received.add(rollout);
  }

  /**
   * Begins the ends that are due, and does not wait for them. `term` is aborted when another process may end them.
   * The gateway has to serve what `seen` says.
   */
  look(seen: ClusterSnapshot, term: AbortSignal): void {
    const existing = new Set([...seen.byService.values()].flat().map(({ rollout }) => rollout));
    for (const rollout of this.#received) if (!existing.has(rollout)) this.#received.delete(rollout);
    for (const runtime of seen.runtimes) {
      for (const [rollout, instances] of Map.groupBy(this.#formerOf(runtime, seen), (instance) => instance.rollout)) {
        if (this.#underWay.has(rollout) || !this.#isDue(rollout, runtime, seen)) continue;
        const end = this.#attempt({ service: runtime.service_id, rollout, instances }, seen, term);
        this.#underWay.set(
          rollout,
          end.finally(() => this.#underWay.delete(rollout)),
        );
      }
    }
  }

  /** Resolves when no end is under way. Ends are aborted with the keeper. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  #formerOf({ service_id: service, desired, config, rollout, is_held }: KeptService, seen: ClusterSnapshot): readonly Instance[] {
    // The deployment, or the kind of the service, stops a service that should not run at all.
    if (desired !== 'RUNNING' || config === null || is_held) return [];
    if (!this.#tools.parts.kinds.of(config).hasLastingInstances) return [];
    const instances = seen.byService.get(service) ?? [];
    return instances.filter((instance) => instance.rollout !== rollout && !seen.openRollouts.has(instance.rollout));
  }

  /**
   * Returns whether an end may begin. The open requests are at the gateway of the process that has deployed the
   * current rollout. As long as that deployment runs, only rollouts that this process has handed over may end.
   */
  #isDue(former: string, { rollout }: KeptService, seen: ClusterSnapshot): boolean {
    const { parts, driver } = this.#tools;
    const hasGateway = driversOf(parts, driver).cluster.routes === undefined;
    return !hasGateway || this.#received.has(former) || !seen.openRollouts.has(rollout ?? '');
  }

  async #attempt(former: Former, seen: ClusterSnapshot, term: AbortSignal): Promise<void> {
    const { parts, driver, attempts } = this.#tools;
    const gateway = parts.gateways[driver];
    const ids = former.instances.map(({ id }) => id);
    // The deployment has switched the gateway of its process. A later look ends what this process still serves.
    if (driversOf(parts, driver).cluster.routes === undefined && gateway?.serves(ids) === true) return;
    if (await attempts.attempt(`end ${former.rollout}`, () => this.#end(former, seen, term))) this.#onEnded();
  }

  async #end({ service, rollout, instances }: Former, seen: ClusterSnapshot, term: AbortSignal): Promise<void> {
    const { parts, driver, call, stop } = this.#tools;
    const { cluster } = driversOf(parts, driver);
    const { drainSeconds } = parts.settings;
    // The period of the release that ends, which a later release may have changed.
    const graceSeconds = terminationGrace(seen.configs.get(instances[0]?.release ?? '') ?? null, parts.settings);
    await crashPoint('end:before');
    const ids = instances.map(({ id }) => id);
    const drained = parts.gateways[driver]?.awaitDrained(ids, drainSeconds * 1_000);
    await abortable(Promise.resolve(drained), AbortSignal.any([stop, term]));
    await crashPoint('end:drained');
    const context = call(graceSeconds + retireSeconds);
    const signal = AbortSignal.any([context.signal, term]);
    await cluster.retire({ service, rollout }, graceSeconds, { ...context, signal });
    await crashPoint('end:after');
  }
}

/** The instances of a former rollout. */
interface Former {
  readonly service: string;
  readonly rollout: string;
  readonly instances: readonly Instance[];
}
