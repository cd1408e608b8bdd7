import type { CallContext, Instance } from '@davit/drivers';
import type { LogCollector } from '../output/log-collector.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import type { Attempts } from './attempts.ts';
import type { ClusterSnapshot } from './observer.ts';
import type { Revival } from './revival.ts';
import type { ServiceQueue } from './service-queue.ts';

/** Seconds beyond the grace period of an instance. A removal that takes longer is stuck and is retried. */
export const retireSeconds = 120;

/** One look of a keeper at its cluster. */
export interface Look {
  readonly seen: ClusterSnapshot;
  /**
   * Aborts when this process may no longer follow the output on this cluster; null if another process follows it.
   */
  readonly term: AbortSignal | null;
}

/** Parts of the keeper of one cluster, for `Kind.keep`. */
export interface KeepTools {
  readonly parts: EngineParts;
  readonly driver: string;
  readonly attempts: Pick<Attempts, 'attempt'>;
  readonly queue: Pick<ServiceQueue, 'run'>;
  readonly revival: Pick<Revival, 'ofExit'>;
  readonly logs: Pick<LogCollector, 'follow'>;
  /** Returns whether an instance is ready, as far as its probes and its cluster show. */
  readonly isReady: (instance: Instance) => boolean;
  /** Aborts when the keeper stops. */
  readonly stop: AbortSignal;
  /** Returns a context for calls. `seconds`: timeout; if omitted, the called function has its own timeout. */
  readonly call: (seconds?: number) => CallContext;
}

/**
 * Removes instances by rollout, so that instances that a deployment has started since the look are not affected. A
 * failed removal is repeated at a later look.
 */
export async function retireInstances(
  { parts, driver, attempts, call }: Pick<KeepTools, 'parts' | 'driver' | 'attempts' | 'call'>,
  service: string,
  instances: readonly Instance[],
  graceSeconds: number,
): Promise<void> {
  const { cluster } = driversOf(parts, driver);
  for (const rollout of new Set(instances.map((instance) => instance.rollout))) {
    await attempts.attempt(`retire ${rollout}`, () =>
      cluster.retire({ service, rollout }, graceSeconds, call(graceSeconds + retireSeconds)),
    );
  }
}
