import type { Deps } from '../deps.ts';
import { Mounting, type MountedOperation } from '../http/mount.ts';
import { mountAccount } from './account/index.ts';
import { mountAnnotationGroup } from './annotation-group/index.ts';
import { mountCertificate } from './certificate/index.ts';
import { mountCloudCatalogue } from './cloud-catalogue/index.ts';
import { mountCloudCredentials } from './cloud-credentials/index.ts';
import { mountCustomDomain } from './custom-domain/index.ts';
import { mountClone } from './clone/index.ts';
import { mountCluster } from './cluster/index.ts';
import { mountContainerRegistry } from './container-registry/index.ts';
import { mountDatabaseBackup } from './database-backup/index.ts';
import { mountDeployment } from './deployment/index.ts';
import { mountDeploymentRestriction } from './deployment-restriction/index.ts';
import { mountDeploymentRule } from './deployment-rule/index.ts';
import { mountDeploymentStage } from './deployment-stage/index.ts';
import { mountEnvironment } from './environment/index.ts';
import { mountEvent } from './event/index.ts';
import { mountGitEvent } from './git-event/index.ts';
import { mountGitToken } from './git-token/index.ts';
import { mountHelmRepository } from './helm-repository/index.ts';
import { mountIngress } from './ingress/index.ts';
import { mountJobCleaning } from './job-cleaning/index.ts';
import { mountLabelGroup } from './label-group/index.ts';
import { mountLifecycleTemplate } from './lifecycle-template/index.ts';
import { mountMember } from './member/index.ts';
import { mountOrganization } from './organization/index.ts';
import { mountOverview } from './overview/index.ts';
import { mountProject } from './project/index.ts';
import { mountRole } from './role/index.ts';
import { mountService, serviceOwners } from './service/index.ts';
import { mountSourceCheck } from './source-check/index.ts';
import { mountStream, type Streams } from './stream/index.ts';
import { mountToken } from './token/index.ts';
import { mountVariable } from './variable/index.ts';
import { mountWebhook } from './webhook/index.ts';

/** The dependencies of all resources together. */
export interface ResourceDeps extends Deps {
  readonly streams: Streams;
}

/** Returns the operations of all resources with their handlers. */
export function mountAll(deps: ResourceDeps): readonly MountedOperation[] {
  const mounting = new Mounting();
  mountOrganization(mounting, deps);
  mountEvent(mounting, deps);
  mountMember(mounting, deps);
  mountRole(mounting, deps);
  mountAccount(mounting, deps);
  mountToken(mounting, deps);
  mountGitToken(mounting, deps);
  mountGitEvent(mounting, deps);
  mountWebhook(mounting, deps);
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
  mountClone(mounting, deps);
  mountCustomDomain(mounting, deps);
  mountCertificate(mounting, deps);
  mountDatabaseBackup(mounting, deps);
  mountDeploymentRestriction(mounting, deps);
  mountDeploymentRule(mounting, deps);
  mountDeployment(mounting, deps);
  mountOverview(mounting, deps);
  mountIngress(mounting, deps);
  mountLifecycleTemplate(mounting, deps);
  mountJobCleaning(mounting, deps);
  mountSourceCheck(mounting, deps);
  mountStream(mounting, deps);
  mountService(mounting, deps);
  mountVariable(mounting, deps, serviceOwners(deps));
  return mounting.mounted;
}
