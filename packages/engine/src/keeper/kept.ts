import type { Workload } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import type { EngineParts } from '../parts.ts';
import { instanceCounts } from '../scaling/instances.ts';
import type { KeptRow } from '../store/requests.ts';
import { secretIds, toWorkload } from '../workload.ts';

/** A service with what its release runs; without, it is not to be kept running. */
export interface Kept extends KeptRow {
  readonly config: ReleaseConfig | null;
}

/** What should run of a service, as for the driver; null: nothing. Only what is started needs secrets. */
export async function workloadOf(parts: EngineParts, runtime: Kept, withSecrets: boolean): Promise<Workload | null> {
  const { hooks, settings } = parts;
  const { config } = runtime;
  if (config === null || runtime.release_id === null || runtime.rollout === null || runtime.image_id === null) return null;
  const workload = toWorkload({
    owner: {
      installation: settings.installation,
      organization: runtime.organization_id,
      project: runtime.project_id,
      environment: runtime.environment_id,
      service: runtime.service_id,
    },
    release: runtime.release_id,
    rollout: runtime.rollout,
    image: runtime.image_id,
    config,
    commit: runtime.commit,
    secrets: withSecrets ? await hooks.secrets(secretIds(config)) : null,
    builtInPrefix: settings.builtInPrefix,
    readyTimeoutSeconds: settings.readyTimeoutSeconds,
    terminationGraceSeconds: settings.terminationGraceSeconds,
  });
  return { ...workload, instances: instanceCounts(runtime, config).existing };
}
