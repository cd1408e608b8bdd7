import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Paging, Uuid } from '../shape.ts';
import { DeploymentPlan, DryRun, ServiceHistory, ServiceStatus } from '../shared/deployment.ts';
import { Application, ApplicationEditRequest, ApplicationRequest, DeployRequest, Link, Log } from './application.ts';
import { AliasRequest, EnvironmentVariable, Secret, VariableEditRequest, VariableRequest } from './variable.ts';

const tag = 'Application';
const at = '/application/{applicationId}' as const;
const target = 'service' as const;

const StatusOrPlan = Type.Intersect([ServiceStatus, Type.Partial(Type.Object({ plan: DeploymentPlan }))]);

export const listApplication = operation({
  id: 'listApplication',
  method: 'GET',
  path: '/environment/{environmentId}/application',
  tag,
  summary: 'List the applications of an environment',
  scope: 'READ',
  target: 'environment',
  query: Type.Partial(Type.Object({ toUpdate: Type.Boolean() })),
  status: 200,
  response: List(Application),
  errors: [400],
});

export const createApplication = operation({
  id: 'createApplication',
  method: 'POST',
  path: '/environment/{environmentId}/application',
  tag,
  summary: 'Create an application from a git repository with a Dockerfile; nothing is deployed yet',
  scope: 'WRITE',
  target: 'environment',
  body: ApplicationRequest,
  status: 201,
  response: Application,
  errors: [400, 409],
});

export const getApplication = operation({
  id: 'getApplication',
  method: 'GET',
  path: at,
  tag,
  summary: 'Read an application',
  scope: 'READ',
  target,
  status: 200,
  response: Application,
  errors: [],
});

export const editApplication = operation({
  id: 'editApplication',
  method: 'PUT',
  path: at,
  tag,
  summary: 'Edit an application; fields that are left out stay as they are, and nothing changes at run time before a deployment',
  scope: 'WRITE',
  target,
  body: ApplicationEditRequest,
  status: 200,
  response: Application,
  errors: [400, 409],
});

export const deleteApplication = operation({
  id: 'deleteApplication',
  method: 'DELETE',
  path: at,
  tag,
  summary: 'Delete an application with its containers and data; visible as DELETING until it is gone',
  scope: 'WRITE',
  target,
  status: 204,
  response: null,
  errors: [409],
});

export const deployApplication = operation({
  id: 'deployApplication',
  method: 'POST',
  path: `${at}/deploy`,
  tag,
  summary:
    'Deploy an application: the newest commit of its branch, `git_commit_id`, or an earlier release by `release_id`; `dry_run` answers the plan instead',
  scope: 'DEPLOY',
  target,
  query: DryRun,
  body: DeployRequest,
  bodyRequired: false,
  status: 202,
  response: Type.Intersect([
    StatusOrPlan,
    Type.Partial(Type.Object({ status: Type.String(), application_id: Uuid, created_at: DateTime })),
  ]),
  errors: [400, 409],
});

export const redeployApplication = operation({
  id: 'redeployApplication',
  event: 'TRIGGER_REDEPLOY',
  method: 'POST',
  path: `${at}/redeploy`,
  tag,
  summary: 'Deploy the commit that was deployed last with the configuration of now',
  scope: 'DEPLOY',
  target,
  query: DryRun,
  status: 202,
  response: StatusOrPlan,
  errors: [400, 409],
});

export const rebootApplication = operation({
  id: 'rebootApplication',
  method: 'POST',
  path: `${at}/restart-service`,
  tag,
  summary: 'Replace the instances of an application by new ones of the same release',
  scope: 'DEPLOY',
  target,
  query: DryRun,
  status: 202,
  response: StatusOrPlan,
  errors: [409],
});

export const stopApplication = operation({
  id: 'stopApplication',
  method: 'POST',
  path: `${at}/stop`,
  tag,
  summary: 'Stop an application; its data stays',
  scope: 'DEPLOY',
  target,
  query: DryRun,
  status: 202,
  response: StatusOrPlan,
  errors: [409],
});

export const uninstallApplication = operation({
  id: 'uninstallApplication',
  method: 'POST',
  path: `${at}/uninstall`,
  tag,
  summary: 'Remove what an application has on the cluster, data included; its configuration stays. 204: nothing was deployed',
  scope: 'WRITE',
  target,
  status: 202,
  otherStatus: 204,
  response: StatusOrPlan,
  errors: [409],
});

export const getApplicationStatus = operation({
  id: 'getApplicationStatus',
  method: 'GET',
  path: `${at}/status`,
  tag,
  summary: 'Read the status of an application',
  scope: 'READ',
  target,
  status: 200,
  response: ServiceStatus,
  errors: [],
});

export const getEnvironmentApplicationStatus = operation({
  id: 'getEnvironmentApplicationStatus',
  method: 'GET',
  path: '/environment/{environmentId}/application/status',
  tag,
  summary: 'Read the status of all applications of an environment',
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(ServiceStatus),
  errors: [],
});

export const listApplicationLinks = operation({
  id: 'listApplicationLinks',
  method: 'GET',
  path: `${at}/link`,
  tag,
  summary: 'List the addresses under which an application answers',
  scope: 'READ',
  target,
  status: 200,
  response: List(Link),
  errors: [],
});

export const listApplicationLog = operation({
  id: 'listApplicationLog',
  method: 'GET',
  path: `${at}/log`,
  tag,
  summary: 'Read the newest lines that an application printed, oldest of them first; also of containers that are gone',
  scope: 'READ',
  target,
  query: Type.Partial(Type.Object({ tail: Type.Integer({ minimum: 1, maximum: 1000, default: 1000 }) })),
  status: 200,
  response: List(Log),
  errors: [400],
});

export const listApplicationDeploymentHistoryV2 = operation({
  id: 'listApplicationDeploymentHistoryV2',
  method: 'GET',
  path: `${at}/deploymentHistoryV2`,
  tag,
  summary: 'List the deployments of an application, newest first; `release_id` is what a rollback names',
  scope: 'READ',
  target,
  query: Paging,
  status: 200,
  response: ServiceHistory,
  errors: [400],
});

export const listApplicationEnvironmentVariable = operation({
  id: 'listApplicationEnvironmentVariable',
  method: 'GET',
  path: `${at}/environmentVariable`,
  tag,
  summary: 'List the variables that an application sees: its own, inherited and built-in ones',
  scope: 'READ',
  target,
  status: 200,
  response: List(EnvironmentVariable),
  errors: [],
});

export const createApplicationEnvironmentVariable = operation({
  id: 'createApplicationEnvironmentVariable',
  method: 'POST',
  path: `${at}/environmentVariable`,
  tag,
  summary: 'Create a variable of an application; with `mount_path` it is a file',
  scope: 'WRITE',
  target,
  body: VariableRequest,
  status: 201,
  response: EnvironmentVariable,
  errors: [400, 409],
});

export const editApplicationEnvironmentVariable = operation({
  id: 'editApplicationEnvironmentVariable',
  method: 'PUT',
  path: `${at}/environmentVariable/{environmentVariableId}`,
  tag,
  summary: 'Edit a variable of an application',
  scope: 'WRITE',
  target,
  body: VariableEditRequest,
  status: 200,
  response: EnvironmentVariable,
  errors: [400, 409],
});

export const deleteApplicationEnvironmentVariable = operation({
  id: 'deleteApplicationEnvironmentVariable',
  method: 'DELETE',
  path: `${at}/environmentVariable/{environmentVariableId}`,
  tag,
  summary: 'Delete a variable of an application, and its aliases',
  scope: 'WRITE',
  target,
  status: 204,
  response: null,
  errors: [400],
});

export const createApplicationEnvironmentVariableAlias = operation({
  id: 'createApplicationEnvironmentVariableAlias',
  method: 'POST',
  path: `${at}/environmentVariable/{environmentVariableId}/alias`,
  tag,
  summary: 'Give a variable a second key',
  scope: 'WRITE',
  target,
  body: AliasRequest,
  status: 201,
  response: EnvironmentVariable,
  errors: [400, 409],
});

export const listApplicationSecrets = operation({
  id: 'listApplicationSecrets',
  method: 'GET',
  path: `${at}/secret`,
  tag,
  summary: 'List the secrets that an application sees, without their values',
  scope: 'READ',
  target,
  status: 200,
  response: List(Secret),
  errors: [],
});

export const createApplicationSecret = operation({
  id: 'createApplicationSecret',
  method: 'POST',
  path: `${at}/secret`,
  tag,
  summary: 'Create a secret of an application; its value is never shown again',
  scope: 'WRITE',
  target,
  body: VariableRequest,
  status: 201,
  response: Secret,
  errors: [400, 409],
});

export const editApplicationSecret = operation({
  id: 'editApplicationSecret',
  method: 'PUT',
  path: `${at}/secret/{secretId}`,
  tag,
  summary: 'Edit a secret of an application; without `value` its value stays',
  scope: 'WRITE',
  target,
  body: VariableEditRequest,
  status: 200,
  response: Secret,
  errors: [400, 409],
});

export const deleteApplicationSecret = operation({
  id: 'deleteApplicationSecret',
  method: 'DELETE',
  path: `${at}/secret/{secretId}`,
  tag,
  summary: 'Delete a secret of an application, and its aliases',
  scope: 'WRITE',
  target,
  status: 204,
  response: null,
  errors: [400],
});

export const createApplicationSecretAlias = operation({
  id: 'createApplicationSecretAlias',
  method: 'POST',
  path: `${at}/secret/{secretId}/alias`,
  tag,
  summary: 'Give a secret a second key',
  scope: 'WRITE',
  target,
  body: AliasRequest,
  status: 201,
  response: Secret,
  errors: [400, 409],
});
