import { abortablePause } from '@davit/base';
import type { ReleaseConfig } from '../../model.ts';
import { driversOf, type EngineParts } from '../../shared/parts.ts';
import { configOf, driverSet, type StepContext } from '../../steps/step.ts';
import { terminationGrace } from '../../workload/workload.ts';

/*
 * The end of former instances: handed over to the keeper, or awaited.
 */

/** Maximum number of former rollouts of a service that end while a further one starts. */
export const maxEnding = 10;
/** The part of a cluster's memory that the ending instances of a service may have, by their limits. */
const memoryShare = 4;
const lookEveryMilliseconds = 250;
/** Seconds beyond the time of requests and the termination period. Instances that take longer are stuck. */
const lateSeconds = 120;

/**
 * Returns whether the keeper of this process ends former instances on the cluster. It must be the one of this process
 * where a gateway of this process has the open requests.
 */
export function isHandedOver(parts: Pick<EngineParts, 'drivers' | 'handover'>, driver: string): boolean {
  return driversOf(parts, driver).cluster.routes !== undefined || parts.handover.hasReceiver(driver);
}

/** Returns how many former rollouts of a service may be ending when a rollout of this release starts. Pure. */
export function endingLimit(
  { memoryMiB }: Pick<ReleaseConfig, 'memoryMiB'>,
  instances: number,
  cluster: { readonly memoryMiB: number },
): number {
  const size = Math.max(1, memoryMiB * instances);
  return Math.min(maxEnding, Math.floor(cluster.memoryMiB / memoryShare / size));
}

/** Seconds after which a former rollout that still exists is not waited for any more. */
export function endSeconds({ task, parts }: Pick<StepContext, 'task' | 'parts'>): number {
  return lateSeconds + parts.settings.drainSeconds + terminationGrace(task.former?.config ?? null, parts.settings);
}

/**
 * Waits while too many former rollouts of the service are ending, so that deployments in a row do not pile up
 * instances. Instances that do not end, for example on an unreachable node, are not waited for without end.
 *
 * @param instances number of instances that will be started.
 */
export async function awaitEnding(context: StepContext, instances: number): Promise<void> {
  const { task, call } = context;
  const { cluster } = driverSet(context);
  const until = performance.now() + 1_000 * endSeconds(context);
  let limit: number | null = null;
  let isLogged = false;
  for (;;) {
    const existing = await cluster.observe({ service: task.serviceId, exceptRollout: task.rollout }, call.signal);
    const ending = new Set(existing.map(({ rollout }) => rollout).filter((rollout) => rollout !== task.former?.rollout));
    if (ending.size === 0) return;
    limit ??= endingLimit(configOf(task), instances, await cluster.describe(call.signal));
    if (ending.size < limit) return;
    if (performance.now() > until) {
      call.log(`${ending.size} former rollouts have not ended in time and are not waited for. Davit removes them later.`);
      return;
    }
    if (!isLogged) call.log(remark(ending.size));
    isLogged = true;
    await abortablePause(lookEveryMilliseconds, call.signal);
  }
}

function remark(ending: number): string {
  const what = ending === 1 ? '1 former rollout is' : `${ending} former rollouts are`;
  return `${what} still ending. The deployment waits, so that the cluster has memory for the new instances.`;
}
