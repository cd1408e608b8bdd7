import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Nullable, Paging, Reference, Uuid, Words, Named } from '../shape.ts';
import {
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
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    name: Type.String(),
    organization: Reference,
    project: Reference,
    last_updated_by: Type.Optional(Uuid),
    cloud_provider: Named('EnvironmentCloudProvider', Type.Object({ provider: Type.String(), cluster: Type.String() })),
    mode: Words(environmentModes),
    cluster_id: Uuid,
    cluster_name: Type.Optional(Type.String()),
    auto_preview: Type.Optional(Type.Boolean()),
  }),
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
  summary: 'Create an environment; without a cluster it is put on the organization’s default one',
  scope: 'WRITE',
  target: 'project',
  body: Named(
    'EnvironmentRequest',
    Type.Object({
      name: Name,
      mode: Type.Optional(Nullable(Words(environmentModes, { default: 'DEVELOPMENT' }))),
      cluster_id: clusterId,
      cluster: clusterId,
      auto_preview: Type.Optional(Nullable(Type.Boolean())),
    }),
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
  summary:
    'Edit an environment; omitted fields stay as they are. With another cluster its services move there at their next deployment',
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'EnvironmentEditRequest',
    Type.Object({
      name: Type.Optional(Name),
      mode: Type.Optional(Words(environmentModes)),
      auto_preview: Type.Optional(Nullable(Type.Boolean())),
      cluster_id: Type.Optional(Uuid),
    }),
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
  summary: 'Delete an environment with its services and their data; visible as DELETING until it is gone',
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
  summary: 'Read the status of an environment and of all its services',
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: Named(
    'EnvironmentStatuses',
    Type.Object({
      environment: EnvironmentStatus,
      applications: statuses,
      containers: statuses,
      jobs: statuses,
      databases: statuses,
      helms: statuses,
      terraforms: statuses,
    }),
  ),
  errors: [],
});

export const listServicesByEnvironmentId = operation({
  id: 'listServicesByEnvironmentId',
  method: 'GET',
  path: `${at}/services`,
  tag,
  summary: 'List the services of an environment, of every type',
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(Named('Service', Type.Union([Application, Container, Database, Job, Helm, Terraform]))),
  errors: [],
});

const planOrStatus = Named(
  'EnvironmentStatusOrPlan',
  Type.Intersect([EnvironmentStatus, Type.Partial(Type.Object({ plan: DeploymentPlan }))]),
);

// In the public description `deploy` of an environment returns the status shape of a service, and all other operations
// return that of an environment. This shape has the fields of both, so it suits clients of either.
const deployAnswer = Named(
  'DeployedEnvironment',
  Type.Intersect([
    planOrStatus,
    Named('DeployedEnvironmentAsService', Type.Omit(ServiceStatus, ['last_deployment_date', 'deployment_request_id'])),
  ]),
);

export const deployEnvironment = operation({
  id: 'deployEnvironment',
  method: 'POST',
  path: `${at}/deploy`,
  tag,
  summary: 'Deploy all services of an environment; `dry_run` only returns the plan',
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
  summary: 'Deploy all services of an environment again',
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
  summary: 'Stop all services of an environment; their data stays',
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
  summary: 'Cancel the running deployment of an environment',
  scope: 'DEPLOY',
  target: 'environment',
  body: Named(
    'CancelEnvironmentDeploymentRequest',
    Type.Object({ force_cancel: Type.Optional(Type.Boolean({ default: false })) }),
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
  summary: 'List the waiting deployment requests of an environment, in the order of the queue',
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
  summary: 'List the deployments of an environment, newest first',
  scope: 'READ',
  target: 'environment',
  query: Paging,
  status: 200,
  response: EnvironmentHistory,
  errors: [400],
});

const EnvironmentLog = Named(
  'EnvironmentLog',
  Type.Object({
    type: Type.String(),
    timestamp: DateTime,
    details: Named(
      'EnvironmentLogDetails',
      Type.Object({
        organization_id: Type.Optional(Uuid),
        cluster_id: Type.Optional(Uuid),
        execution_id: Type.Optional(Type.String()),
        transmitter: Type.Optional(
          Named(
            'LogTransmitter',
            Type.Object({ id: Type.Optional(Uuid), name: Type.Optional(Type.String()), type: Type.Optional(Type.String()) }),
          ),
        ),
        stage: Type.Optional(
          Named(
            'LogStage',
            Type.Object({
              step: Type.Optional(Type.String()),
              id: Type.Optional(Nullable(Uuid)),
              name: Type.Optional(Nullable(Type.String())),
            }),
          ),
        ),
      }),
    ),
    error: Type.Optional(
      Nullable(
        Named(
          'EnvironmentLogError',
          Type.Object({
            tag: Type.Optional(Type.String()),
            user_log_message: Type.Optional(Type.String()),
            link: Type.Optional(Type.String()),
            hint_message: Type.Optional(Type.String()),
            underlying_error: Type.Optional(
              Named(
                'UnderlyingError',
                Type.Object({ message: Type.Optional(Type.String()), full_details: Type.Optional(Type.String()) }),
              ),
            ),
          }),
        ),
      ),
    ),
    message: Type.Optional(
      Nullable(
        Named(
          'EnvironmentLogMessage',
          Type.Object({ safe_message: Type.Optional(Type.String()), full_details: Type.Optional(Type.String()) }),
        ),
      ),
    ),
  }),
);

export const listEnvironmentLogs = operation({
  id: 'listEnvironmentLogs',
  method: 'GET',
  path: `${at}/logs`,
  tag,
  summary: 'Build and deployment log of one deployment, oldest line first; `version` is its execution id, by default the latest',
  scope: 'READ',
  target: 'environment',
  query: Type.Partial(Type.Object({ version: Type.String({ maxLength: 100 }) })),
  status: 200,
  response: Type.Array(EnvironmentLog),
  errors: [],
});
