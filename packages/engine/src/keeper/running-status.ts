import type { Instance } from '@davit/drivers';
import type { EngineParts } from '../shared/parts.ts';
import type { ConditionSeverity, ServiceView } from '../port.ts';
import { instanceCounts } from '../scaling/instances.ts';
import { clearLapsedConditions } from '../store/conditions.ts';
import { setRunningStatus } from '../store/journal.ts';
import type { KeptService } from './kept-service.ts';
import type { ClusterSnapshot } from './observer.ts';

/** Returns the instances of the current rollout that receive requests. Their readiness is not checked. */
export function servingInstances(runtime: KeptService, seen: Pick<ClusterSnapshot, 'byService'>): readonly Instance[] {
  const { config, rollout, service_id: service } = runtime;
  if (config === null) return [];
  const { serving } = instanceCounts(runtime, config);
  return (seen.byService.get(service) ?? []).filter((instance) => instance.rollout === rollout && instance.index < serving);
}

/**
 * Stores the running status of a service, derived from the observed instances and the open conditions. If all instances
 * are up, also clears lapsed conditions: those last observed longer ago than their `clear_after_seconds`.
 */
export async function noteRunningStatus(
  { database, kinds }: Pick<EngineParts, 'database' | 'kinds'>,
  runtime: KeptService,
  seen: ClusterSnapshot,
  isReady: (instance: Instance) => boolean,
): Promise<void> {
  const { config, desired, service_id: service, worst_condition: known } = runtime;
  if (seen.deploying.has(service) || desired !== 'RUNNING' || config === null || !kinds.of(config).hasLastingInstances) return;
  const { serving } = instanceCounts(runtime, config);
  const up = servingInstances(runtime, seen).filter((instance) => instance.state === 'RUNNING' && isReady(instance)).length;
  const worst = known !== null && up >= serving ? (await database.one(clearLapsedConditions, [service])).worst : known;
  const status = runningStatus({ serving, up, worst });
  if (status === runtime.running_status && up === runtime.running_instances) return;
  await database.run(setRunningStatus, [service, status, up]);
}

/**
 * Returns the running status. WARNING: some instances are up, or a condition of that severity is open. ERROR: no
 * instance is up, or a condition of that severity is open. Pure.
 */
export function runningStatus({
  serving,
  up,
  worst,
}: {
  /** Number of instances that should serve. */
  readonly serving: number;
  /** Number of instances that are running and ready. */
  readonly up: number;
  readonly worst: ConditionSeverity | null;
}): NonNullable<ServiceView['runningStatus']> {
  if (serving === 0) return 'STOPPED';
  if (up === 0 || worst === 'ERROR') return 'ERROR';
  return up < serving || worst === 'WARNING' ? 'WARNING' : 'RUNNING';
}
