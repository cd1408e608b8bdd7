import type { Deps } from '../deps.ts';
import { Mounting, type MountedOperation } from '../http/mount.ts';
import { mountCluster } from './cluster/index.ts';
import { mountDeployment } from './deployment/index.ts';
import { mountDeploymentStage } from './deployment-stage/index.ts';
import { mountEnvironment } from './environment/index.ts';
import { mountEvent } from './event/index.ts';
import { mountGitToken } from './git-token/index.ts';
import { mountOrganization } from './organization/index.ts';
import { mountProject } from './project/index.ts';
import { mountService } from './service/index.ts';
import { mountToken } from './token/index.ts';
import { mountWebhook } from './webhook/index.ts';

/** Everything that is served. */
export function mountAll(deps: Deps): readonly MountedOperation[] {
  const mounting = new Mounting();
  mountOrganization(mounting, deps);
  mountEvent(mounting, deps);
  mountToken(mounting, deps);
  mountGitToken(mounting, deps);
  mountWebhook(mounting, deps);
  mountProject(mounting, deps);
  mountCluster(mounting, deps);
  mountEnvironment(mounting, deps);
  mountDeploymentStage(mounting, deps);
  mountDeployment(mounting, deps);
  mountService(mounting, deps);
  return mounting.mounted;
}
