import type { Instance } from '@davit/drivers';
import { kindOf } from '../kinds/index.ts';
import type { EngineParts } from '../shared/parts.ts';
import type { ConditionSeverity, ServiceView } from '../port.ts';
import { instanceCounts } from '../scaling/instances.ts';
import { clearLapsedConditions } from '../store/conditions.ts';
import { setRunningStatus } from '../store/journal.ts';
import type { Kept } from './kept.ts';
import type { Seen } from './observer.ts';

/** The instances of what runs of a service that requests are sent to; whether they are ready is not looked at. */
export function servingInstances(runtime: Kept, seen: Pick<Seen, 'byService'>): readonly Instance[] {
  const { config, rollout, service_id: service } = runtime;
  if (config === null) return [];
  const { serving } = instanceCounts(runtime, config);
  return (seen.byService.get(service) ?? []).filter((instance) => instance.rollout === rollout && instance.index < serving);
}

/**
 * Stores how a service runs, from the instances that were seen and the conditions that are open, and clears the conditions that have
 * lapsed: those last observed longer ago than they say, once all instances are up.
 */
export async function noteRunningStatus(
  { database }: Pick<EngineParts, 'database'>,
  runtime: Kept,
  seen: Seen,
  isReady: (instance: Instance) => boolean,
): Promise<void> {
  const { config, desired, service_id: service, worst_condition: known } = runtime;
  if (seen.deploying.has(service) || desired !== 'RUNNING' || config === null || !kindOf(config).hasLastingInstances) return;
  const { serving } = instanceCounts(runtime, config);
  const up = servingInstances(runtime, seen).filter((instance) => instance.state === 'RUNNING' && isReady(instance)).length;
  const worst = known !== null && up >= serving ? (await database.one(clearLapsedConditions, [service])).worst : known;
  const status = runningStatus({ serving, up, worst });
  if (status === runtime.running_status && up === runtime.running_instances) return;
  await database.run(setRunningStatus, [service, status, up]);
}

/** WARNING: some instances are up, or a condition is open. ERROR: none is up, or a condition says so. Pure. */
export function runningStatus({
  serving,
  up,
  worst,
}: {
  /** How many instances should serve. */
  readonly serving: number;
  /** How many do. */
  readonly up: number;
  readonly worst: ConditionSeverity | null;
}): NonNullable<ServiceView['runningStatus']> {
  if (serving === 0) return 'STOPPED';
  if (up === 0 || worst === 'ERROR') return 'ERROR';
  return up < serving || worst === 'WARNING' ? 'WARNING' : 'RUNNING';
}
