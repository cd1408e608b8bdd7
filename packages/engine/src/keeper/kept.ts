import type { Workload } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import type { EngineParts } from '../parts.ts';
import { placedWorkload } from '../placed-workload.ts';
import { instanceCounts } from '../scaling/instances.ts';
import type { KeptRow } from '../store/requests.ts';

/** A service with what its release runs; without, it is not to be kept running. */
export interface Kept extends KeptRow {
  readonly config: ReleaseConfig | null;
}

/** What should run of a service, as for the driver; null: nothing. Only what is started needs secrets. */
export async function workloadOf(parts: EngineParts, runtime: Kept, withSecrets: boolean): Promise<Workload | null> {
  const { config, release_id, rollout, image_id } = runtime;
  if (config === null || release_id === null || rollout === null || image_id === null) return null;
  const workload = await placedWorkload(parts, { ...runtime, config, release_id, rollout, image_id }, withSecrets);
  return { ...workload, instances: instanceCounts(runtime, config).lasting };
}
