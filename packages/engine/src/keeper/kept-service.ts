import type { Workload } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import type { EngineParts } from '../shared/parts.ts';
import { deployedWorkload } from '../workload/deployed-workload.ts';
import { instanceCounts } from '../scaling/instances.ts';
import { busyEnvironments } from '../store/journal.ts';
import { readRuntimes, type KeptRow } from '../store/requests.ts';

/** A service with the configuration of its release. `config` is null if the service should not be kept running. */
export interface KeptService extends KeptRow {
  readonly config: ReleaseConfig | null;
}

/**
 * Returns the workload that a driver should run for a service; null if nothing should run. Secrets are only needed to
 * start it. Instances that are being added are not included, because the scaler starts them.
 */
export async function workloadOf(parts: EngineParts, runtime: KeptService, withSecrets: boolean): Promise<Workload | null> {
  const { config, release_id, rollout, image_id } = runtime;
  if (config === null || release_id === null || rollout === null || image_id === null) return null;
  const workload = await deployedWorkload(parts, { ...runtime, config, release_id, rollout, image_id }, withSecrets);
  return { ...workload, instances: instanceCounts(runtime, config).serving };
}

/**
 * Returns whether the row of a service is unchanged since it was read and its environment has no running deployment.
 */
export async function isAsSeen({ database }: Pick<EngineParts, 'database'>, seen: KeptService): Promise<boolean> {
  const { service_id: service, environment_id: environment } = seen;
  const [now] = await database.many(readRuntimes, [[service]]);
  if (now === undefined || now.driver !== seen.driver || now.rollout !== seen.rollout || now.desired !== seen.desired)
    return false;
  if (now.instances !== seen.instances || now.settled_instances !== seen.settled_instances) return false;
  return (await database.many(busyEnvironments)).every((busy) => busy.environment_id !== environment);
}
