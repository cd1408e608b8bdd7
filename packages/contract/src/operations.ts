import * as device from './account/device.ts';
import * as issuer from './account/issuer.ts';
import * as accountLink from './account/link.ts';
import * as passkey from './account/passkey.ts';
import * as secondFactor from './account/second-factor.ts';
import * as session from './account/session.ts';
import * as signIn from './account/sign-in.ts';
import * as clusterSettings from './cluster/advanced-settings.ts';
import * as cluster from './cluster/cluster.ts';
import * as credentials from './cluster/credentials.ts';
import * as clusterKubernetes from './cluster/kubernetes.ts';
import * as kubeconfig from './cluster/kubeconfig.ts';
import * as clusterLifecycle from './cluster/lifecycle.ts';
import * as catalogue from './cluster/catalogue.ts';
import * as history from './deployment/history.ts';
import * as queue from './deployment/queue.ts';
import { allRestrictions } from './deployment/restriction.ts';
import * as rule from './deployment/rule.ts';
import * as stage from './deployment/stage.ts';
import * as check from './environment/check.ts';
import * as clone from './environment/clone.ts';
import * as environmentDeploy from './environment/deploy.ts';
import * as environment from './environment/environment.ts';
import * as environmentLog from './environment/log.ts';
import * as annotationsGroup from './group/annotations-group.ts';
import * as labelsGroup from './group/labels-group.ts';
import { createHelmDefaultValues } from './environment/helm-values.ts';
import * as lifecycleTemplate from './environment/lifecycle-template.ts';
import * as overview from './environment/overview.ts';
import * as environmentStatuses from './environment/statuses.ts';
import { checkGitRepository } from './environment/repository-check.ts';
import * as selection from './environment/selection.ts';
import * as gitCommit from './git/commit.ts';
import * as gitEvent from './git/event.ts';
import * as gitImage from './git/image.ts';
import type { ById, Operation } from './operation.ts';
import * as account from './organization/account.ts';
import * as apiToken from './organization/api-token.ts';
import * as certificateAuthority from './organization/certificate-authority.ts';
import * as event from './organization/event.ts';
import * as gitToken from './organization/git-token.ts';
import * as member from './organization/member.ts';
import * as organization from './organization/organization.ts';
import { getOrganizationOverview } from './organization/overview.ts';
import * as role from './organization/role.ts';
import * as project from './project/project.ts';
import * as containerRegistry from './registry/container-registry.ts';
import * as helmRepository from './registry/helm-repository.ts';
import * as advancedSettings from './service/advanced-settings.ts';
import { applicationOperations } from './service/application.ts';
import { containerOperations } from './service/container.ts';
import { jobOperations } from './service/job.ts';
import * as databaseBackup from './service/database-backup.ts';
import { databaseOperations } from './service/database.ts';
import { helmOperations } from './service/helm.ts';
import { listTerraformVersions, terraformOperations } from './service/terraform.ts';
import { getHelmKubernetesServices } from './service/helm-service.ts';
import * as ingress from './service/ingress.ts';
import * as jobCleaning from './service/job-cleaning.ts';
import { searchServiceLog } from './service/log-search.ts';
import * as release from './service/release.ts';
import { getTerraformResources } from './service/terraform-resource.ts';
import * as stream from './stream/stream.ts';
import { scopedVariableOperations } from './variable/scopes.ts';
import * as variable from './variable/operations.ts';
import * as webhook from './webhook/webhook.ts';

const clusters = {
  ...cluster,
  ...clusterKubernetes,
  ...clusterLifecycle,
  ...clusterSettings,
  ...kubeconfig,
  ...credentials,
  ...catalogue,
};
const modules = {
  ...organization,
  ...apiToken,
  ...gitToken,
  ...event,
  ...certificateAuthority,
  ...containerRegistry,
  ...helmRepository,
  ...annotationsGroup,
  ...labelsGroup,
  ...member,
  ...role,
  ...account,
  ...signIn,
  ...issuer,
  ...accountLink,
  ...device,
  ...secondFactor,
  ...passkey,
  ...session,
  ...project,
  ...clusters,
  ...environment,
  ...environmentDeploy,
  ...environmentStatuses,
  ...environmentLog,
  ...overview,
  ...selection,
  ...clone,
  ...check,
  checkGitRepository,
  getOrganizationOverview,
  ...stage,
  ...queue,
  ...history,
  ...rule,
  ...allRestrictions,
  ...advancedSettings,
  ...scopedVariableOperations,
  ...variable,
  ...webhook,
  ...stream,
  ...databaseBackup,
  ...gitEvent,
  ...gitCommit,
  ...gitImage,
  ...jobCleaning,
  ...lifecycleTemplate,
  ...ingress,
  listTerraformVersions,
  getTerraformResources,
  searchServiceLog,
  ...release,
  createHelmDefaultValues,
  getHelmKubernetesServices,
};

/** Operations that service types share, by kind and role. Code that serves all kinds alike reads them from here. */
export const serviceOperations = {
  APPLICATION: applicationOperations,
  CONTAINER: containerOperations,
  DATABASE: databaseOperations,
  JOB: jobOperations,
  HELM: helmOperations,
  TERRAFORM: terraformOperations,
};

type ValueOf<T> = T[keyof T];
type InModules = {
  [Name in keyof typeof modules as (typeof modules)[Name] extends Operation ? Name : never]: (typeof modules)[Name];
};
type Declared = InModules &
  ById<ValueOf<typeof applicationOperations>> &
  ById<ValueOf<typeof containerOperations>> &
  ById<ValueOf<typeof databaseOperations>> &
  ById<ValueOf<typeof jobOperations>> &
  ById<ValueOf<typeof helmOperations>> &
  ById<ValueOf<typeof terraformOperations>>;

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'id' in value && 'method' in value && 'path' in value;
}

const declared: readonly Operation[] = [
  ...Object.entries(modules).flatMap(([name, value]) => (isOperation(value) && value.id === name ? [value] : [])),
  ...Object.values(serviceOperations).flatMap((byRole) => Object.values(byRole)),
];

/** Every operation of the API, keyed by its id. An operation that is missing here is not served. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- TypeScript does not know the keys that a filter leaves; `Declared` filters the same way
export const operations = Object.fromEntries(declared.map((one) => [one.id, one])) as unknown as Declared;

export type OperationId = keyof Declared;
export const operationList: readonly Operation[] = declared;
