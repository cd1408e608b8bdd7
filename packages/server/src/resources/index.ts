import type { Deps } from '../deps.ts';
import { Mounting, type MountedOperation } from '../http/mount.ts';
import { mountAccount } from './account/index.ts';
import { mountAnnotationGroup } from './annotation-group/index.ts';
import { mountCloudCatalogue } from './cloud-catalogue/index.ts';
import { mountCloudCredentials } from './cloud-credentials/index.ts';
import { mountCluster } from './cluster/index.ts';
import { mountContainerRegistry } from './container-registry/index.ts';
import { mountDeployment } from './deployment/index.ts';
import { mountDeploymentStage } from './deployment-stage/index.ts';
import { mountEnvironment } from './environment/index.ts';
import { mountGitToken } from './git-token/index.ts';
import { mountHelmRepository } from './helm-repository/index.ts';
import { mountLabelGroup } from './label-group/index.ts';
import { mountMember } from './member/index.ts';
import { mountOrganization } from './organization/index.ts';
import { mountProject } from './project/index.ts';
import { mountRole } from './role/index.ts';
import { mountService, servicePlaces } from './service/index.ts';
import { mountToken } from './token/index.ts';
import { mountVariable } from './variable/index.ts';

/** Everything that is served. */
export function mountAll(deps: Deps): readonly MountedOperation[] {
  const mounting = new Mounting();
  mountOrganization(mounting, deps);
  mountMember(mounting, deps);
  mountRole(mounting, deps);
  mountAccount(mounting, deps);
  mountToken(mounting, deps);
  mountGitToken(mounting, deps);
  mountContainerRegistry(mounting, deps);
  mountHelmRepository(mounting, deps);
  mountAnnotationGroup(mounting, deps);
  mountLabelGroup(mounting, deps);
  mountProject(mounting, deps);
  mountCloudCatalogue(mounting, deps);
  mountCloudCredentials(mounting, deps);
  mountCluster(mounting, deps);
  mountEnvironment(mounting, deps);
  mountDeploymentStage(mounting, deps);
  mountDeployment(mounting, deps);
  mountService(mounting, deps);
  mountVariable(mounting, deps, servicePlaces(deps));
  return mounting.mounted;
}
