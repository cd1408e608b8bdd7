import type { Workload } from '@davit/drivers';
import type { ReleaseCommit, ReleaseConfig } from '../model.ts';
import type { EngineParts } from '../shared/parts.ts';
import { ownerOf } from './owner.ts';
import { withRegistry } from './registry-image.ts';
import { secretIds, toWorkload } from './workload.ts';

/** A release with its owners, as the rows of running services contain it. */
export interface DeployedRelease {
  readonly driver: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment_id: string;
  readonly service_id: string;
  readonly release_id: string;
  readonly rollout: string;
  readonly image_id: string;
  readonly config: ReleaseConfig;
  readonly commit: ReleaseCommit | null;
}

/** Returns the workload for a driver, from a row. Secrets are only needed to start it. */
export async function deployedWorkload(parts: EngineParts, placed: DeployedRelease, withSecrets: boolean): Promise<Workload> {
  const { hooks, settings } = parts;
  const workload = toWorkload({
    owner: ownerOf(parts, placed),
    release: placed.release_id,
    rollout: placed.rollout,
    image: placed.image_id,
    config: placed.config,
    commit: placed.commit,
    secrets: withSecrets ? await hooks.secrets(secretIds(parts.kinds, placed.config)) : null,
    builtInPrefix: settings.builtInPrefix,
    readyTimeoutSeconds: settings.readyTimeoutSeconds,
    terminationGraceSeconds: settings.terminationGraceSeconds,
    kinds: parts.kinds,
  });
  return withSecrets ? withRegistry(parts, placed.driver, placed.config, workload) : workload;
}
