import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Paging, Reference, Uuid, Words } from '../shape.ts';
import { EnvironmentLog } from './log.ts';
import {
  DeployedEnvironmentAsService,
  DeploymentPlan,
  DryRun,
  EnvironmentHistory,
  EnvironmentQueueEntry,
  EnvironmentStatus,
  ServiceStatus,
} from '../shared/deployment.ts';
import { environmentModes } from '../shared/words.ts';
import { Application } from '../service/application.ts';
import { Container } from '../service/container.ts';
import { Job } from '../service/job.ts';
import { Database } from '../service/database.ts';
import { Helm } from '../service/helm.ts';
import { Terraform } from '../service/terraform.ts';

export const Environment = Named(
  'Environment',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When the record itself was last edited.', DateTime)),
    name: about('The name, unique in the project without regard to case.', Type.String()),
    organization: about('The organization that owns it.', Reference),
    project: about('The project of the environment.', Reference),
    last_updated_by: Type.Optional(about('Who edited it last. Absent if that is unknown.', Uuid)),
    cloud_provider: Named(
      'EnvironmentCloudProvider',
      Type.Object({
        provider: about('The cloud of the cluster.', Type.String()),
        cluster: about('The name of the cluster.', Type.String()),
      }),
      'The cloud and the cluster of an environment.',
    ),
    mode: Words(environmentModes),
    cluster_id: about('The cluster on which it runs.', Uuid),
    cluster_name: Type.Optional(about('The name of that cluster.', Type.String())),
    auto_preview: Type.Optional(about('Whether new services have previews by default.', Type.Boolean())),
  }),
  'Services that are deployed together on one cluster, one deployment at a time.',
);

const tag = 'Environment';
const at = '/environment/{environmentId}' as const;
const clusterId = Type.Optional(Nullable(Uuid));

export const listEnvironment = operation({
  id: 'listEnvironment',
  method: 'GET',
  path: '/project/{projectId}/environment',
  tag,
  summary: 'List the environments of a project',
  description: `
    Returns the environments of the project, oldest first. A caller with a custom role gets only those of the modes
    that the role may see.
  `,
  scope: 'READ',
  target: 'project',
  status: 200,
  response: List(Environment),
  errors: [],
});

export const createEnvironment = operation({
  id: 'createEnvironment',
  method: 'POST',
  path: '/project/{projectId}/environment',
  tag,
  summary: 'Create an environment',
  description: `
    Creates an empty environment on a cluster: add services, then deploy. It copies the first matching deployment
    rule of the project. On a cluster that is only recorded, it cannot be deployed.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | An environment of the project has the name; case does not matter. | Choose another name. |
  `,
  scope: 'WRITE',
  target: 'project',
  body: Named(
    'EnvironmentRequest',
    Type.Object({
      name: about('The name, unique in the project without regard to case.', Name),
      mode: Type.Optional(
        about('The purpose; it decides who may change it.', Nullable(Words(environmentModes, { default: 'DEVELOPMENT' }))),
      ),
      cluster_id: about('The cluster; by default the default one of the organization.', clusterId),
      cluster: about('Another name for `cluster_id`.', clusterId),
      auto_preview: Type.Optional(
        about('Whether new services have previews by default; false if you leave it out.', Nullable(Type.Boolean())),
      ),
    }),
    'An environment to create.',
  ),
  status: 201,
  response: Environment,
  errors: [400, 409],
});

export const getEnvironment = operation({
  id: 'getEnvironment',
  method: 'GET',
  path: at,
  tag,
  summary: 'Read an environment',
  description: `
    Returns name, mode and cluster of the environment. Its services, and how they are, are read separately: list the
    services, or read the statuses.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: Environment,
  errors: [],
});

export const editEnvironment = operation({
  id: 'editEnvironment',
  method: 'PUT',
  path: at,
  tag,
  summary: 'Edit an environment',
  description: `
    Changes the fields that the request has. Nothing is deployed or restarted. With another \`cluster_id\`, each
    service moves there with its next deployment; volumes are not moved.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | An environment of the project has the name; case does not matter. | Choose another name. |
    | \`IN_USE\` (409) | A public port of a service is taken on the new cluster. | Choose other ports first. |
    | \`CLUSTER_NOT_DEPLOYED\` (409) | The new cluster is only recorded. | Use another cluster. |
  `,
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'EnvironmentEditRequest',
    Type.Object({
      name: Type.Optional(about('The new name, unique in the project without regard to case.', Name)),
      mode: Type.Optional(about('The new mode; a custom role needs MANAGER for both.', Words(environmentModes))),
      auto_preview: Type.Optional(about('Whether new services have previews by default.', Nullable(Type.Boolean()))),
      cluster_id: Type.Optional(about('Another cluster; services move at their next deployment, without data.', Uuid)),
    }),
    'The fields of an environment to change; the others stay.',
  ),
  status: 200,
  response: Environment,
  errors: [400, 409],
});

export const deleteEnvironment = operation({
  id: 'deleteEnvironment',
  method: 'DELETE',
  path: at,
  tag,
  summary: 'Delete an environment',
  description: `
    Deletes the environment with all services, their data and backups. This cannot be undone. If anything was
    deployed, a deployment removes it from the cluster first: the environment is DELETING until then. A repetition
    changes nothing; after a failure it tries again.
  `,
  scope: 'WRITE',
  target: 'environment',
  status: 204,
  response: null,
  errors: [409],
});

export const getEnvironmentStatus = operation({
  id: 'getEnvironmentStatus',
  method: 'GET',
  path: `${at}/status`,
  tag,
  summary: 'Read the status of an environment',
  description: `
    Returns the state of the environment as a whole. To wait for a deployment, read until \`last_deployment_state\` is
    an end: DEPLOYED, STOPPED, RESTARTED, DELETED, CANCELED, or one with ERROR.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: EnvironmentStatus,
  errors: [],
});

const statuses = Type.Array(ServiceStatus);
export const getEnvironmentStatuses = operation({
  id: 'getEnvironmentStatuses',
  method: 'GET',
  path: `${at}/statuses`,
  tag,
  summary: 'Read all statuses of an environment',
  description: `
    Returns the status of the environment and those of its services, by type. One request is cheaper than one for
    each service.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: Named(
    'EnvironmentStatuses',
    Type.Object({
      environment: EnvironmentStatus,
      applications: about('The statuses of the applications.', statuses),
      containers: about('The statuses of the containers.', statuses),
      jobs: about('The statuses of the jobs.', statuses),
      databases: about('The statuses of the databases.', statuses),
      helms: about('The statuses of the Helm charts.', statuses),
      terraforms: about('The statuses of the Terraform configurations.', statuses),
    }),
    'The status of an environment and of all its services.',
  ),
  errors: [],
});

export const listServicesByEnvironmentId = operation({
  id: 'listServicesByEnvironmentId',
  method: 'GET',
  path: `${at}/services`,
  tag,
  summary: 'List the services of an environment',
  description: `
    Returns the configuration of all services of every type, oldest first; \`service_type\` tells the types apart.
    Their statuses are read separately.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(
    Named(
      'Service',
      Type.Union([Application, Container, Database, Job, Helm, Terraform]),
      'A service of any type; `service_type` tells them apart.',
    ),
  ),
  errors: [],
});

const planOrStatus = Named(
  'EnvironmentStatusOrPlan',
  Type.Intersect([EnvironmentStatus, Type.Partial(Type.Object({ plan: DeploymentPlan }))]),
  'The status; for a dry run also the plan.',
);

// In the public description `deploy` of an environment returns the status shape of a service, and all other operations
// return that of an environment. This shape has the fields of both, so it suits clients of either.
const deployAnswer = Named(
  'DeployedEnvironment',
  Type.Intersect([planOrStatus, DeployedEnvironmentAsService]),
  `The status of the environment, with the fields of a service's status for older clients.`,
);

export const deployEnvironment = operation({
  id: 'deployEnvironment',
  method: 'POST',
  path: `${at}/deploy`,
  tag,
  summary: 'Deploy an environment',
  description: `
    Deploys all services that are not skipped, stage by stage, each at the newest commit of its branch or its
    configured version. Those that are unchanged stay as they are. If one fails, later stages are not deployed.

    The request waits for its turn; a waiting one of the same caller and action is merged with it. \`dry_run\` only
    returns the plan.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`BILLING_RESTRICTION\` (403) | The organization may not deploy on this cluster. | Settle its billing. |
    | \`CLUSTER_NOT_DEPLOYED\` (409) | The cluster is only recorded. | Use another cluster. |
  `,
  scope: 'DEPLOY',
  target: 'environment',
  query: DryRun,
  status: 202,
  response: deployAnswer,
  errors: [400, 409],
});

export const redeployEnvironment = operation({
  id: 'redeployEnvironment',
  event: 'TRIGGER_REDEPLOY',
  method: 'POST',
  path: `${at}/redeploy`,
  tag,
  summary: 'Redeploy an environment',
  description: `
    Deploys all services that are not skipped again, at the deployed commits or configured versions, with the current
    configuration and variables. Those that are unchanged stay as they are; lifecycle jobs run \`on_start\` again. The
    request waits for its turn. \`dry_run\` only returns the plan.
  `,
  scope: 'DEPLOY',
  target: 'environment',
  query: DryRun,
  status: 202,
  response: planOrStatus,
  errors: [400, 409],
});

export const stopEnvironment = operation({
  id: 'stopEnvironment',
  method: 'POST',
  path: `${at}/stop`,
  tag,
  summary: 'Stop an environment',
  description: `
    Stops all services that are not skipped, in the reverse order of the stages; volumes and configuration stay.
    Lifecycle jobs run \`on_stop\`. Deploy to start again. The request waits for its turn. \`dry_run\` only returns the
    plan.
  `,
  scope: 'DEPLOY',
  target: 'environment',
  query: DryRun,
  status: 202,
  response: planOrStatus,
  errors: [400, 409],
});

export const cancelEnvironmentDeployment = operation({
  id: 'cancelEnvironmentDeployment',
  method: 'POST',
  path: `${at}/cancelDeployment`,
  tag,
  summary: 'Cancel the deployment of an environment',
  description: `
    Cancels the deployment that runs: services in progress return to their former release, those that are done or have
    not begun stay as they are. Waiting requests stay in the queue. The answer comes at once, with CANCELING. A running
    job is awaited unless \`force_cancel\` kills it, also in a second request.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NOTHING_TO_CANCEL\` (409) | Nothing runs, or it is being canceled. | Withdraw waiting requests instead. |
  `,
  scope: 'DEPLOY',
  target: 'environment',
  body: Named(
    'CancelEnvironmentDeploymentRequest',
    Type.Object({
      force_cancel: Type.Optional(about('Kill what runs, instead of waiting for it to end.', Type.Boolean({ default: false }))),
    }),
    'How to cancel a deployment.',
  ),
  bodyRequired: false,
  status: 202,
  response: EnvironmentStatus,
  errors: [400, 409],
});

export const listDeploymentRequestByEnvironmentId = operation({
  id: 'listDeploymentRequestByEnvironmentId',
  method: 'GET',
  path: `${at}/deploymentQueue`,
  tag: 'Deployment queue',
  summary: 'List the waiting requests of an environment',
  description: `
    Returns the requests in the order of the queue. One deployment runs at a time; a request that has begun is no
    longer listed.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(EnvironmentQueueEntry),
  errors: [],
});

export const listEnvironmentDeploymentHistoryV2 = operation({
  id: 'listEnvironmentDeploymentHistoryV2',
  method: 'GET',
  path: `${at}/deploymentHistoryV2`,
  tag,
  summary: 'List the deployments of an environment',
  description: `
    Returns the deployments, newest first, twenty a page: who requested each, what it did with each service, and why
    a service failed.
  `,
  scope: 'READ',
  target: 'environment',
  query: Paging,
  status: 200,
  response: EnvironmentHistory,
  errors: [400],
});

export const listEnvironmentLogs = operation({
  id: 'listEnvironmentLogs',
  method: 'GET',
  path: `${at}/logs`,
  tag,
  summary: 'Read the log of a deployment',
  description: `
    Returns the lines of one deployment, its builds included, oldest first, without secrets. Lines of what services
    print are in the logs of the services.
  `,
  scope: 'READ',
  target: 'environment',
  query: Type.Partial(
    Type.Object({
      version: about('The execution id of the deployment; by default the latest.', Type.String({ maxLength: 100 })),
    }),
  ),
  status: 200,
  response: Type.Array(EnvironmentLog),
  errors: [],
});
