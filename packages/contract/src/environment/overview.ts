import Type from 'typebox';
import { cloudProviders } from '../cluster/shapes.ts';
import { operation } from '../operation.ts';
import { Link } from '../service/parts.ts';
import { DateTime, List, Nullable, Reference, Uuid, Words, Named } from '../shape.ts';
import { EnvironmentStatus, ServiceStatus } from '../shared/deployment.ts';
import { environmentModes, serviceStates, serviceTypes, stageStatuses, stepStatuses } from '../shared/words.ts';

const tag = 'Environment';
const at = '/environment/{environmentId}' as const;

export const listEnvironmentsByOrganizationId = operation({
  id: 'listEnvironmentsByOrganizationId',
  method: 'GET',
  path: '/organization/{organizationId}/environments',
  tag,
  summary: 'List the environments of all projects of an organization',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'OrganizationEnvironment',
      Type.Object({
        id: Uuid,
        created_at: DateTime,
        updated_at: Type.Optional(DateTime),
        name: Type.String(),
        organization: Reference,
        project: Reference,
        mode: Words(environmentModes),
      }),
    ),
  ),
  errors: [],
});

export const listServicesByOrganizationId = operation({
  id: 'listServicesByOrganizationId',
  method: 'GET',
  path: '/organization/{organizationId}/services',
  tag: 'Organization',
  summary:
    'List the services of an organization, of every type, with their project, environment and cluster; the query restricts the list to one of these',
  scope: 'READ',
  target: 'organization',
  query: Type.Partial(Type.Object({ project_id: Uuid, environment_id: Uuid, cluster_id: Uuid })),
  status: 200,
  response: List(
    Named(
      'OrganizationService',
      Type.Object({
        id: Uuid,
        name: Type.String(),
        description: Type.String(),
        icon_uri: Type.String(),
        service_type: Words(serviceTypes),
        project_id: Uuid,
        project_name: Type.String(),
        environment_id: Uuid,
        environment_name: Type.String(),
        cluster_id: Uuid,
        job_type: Type.Optional(Words(['CRON', 'LIFECYCLE'] as const)),
      }),
    ),
  ),
  errors: [400],
});

export const getOrganizationProjectStats = operation({
  id: 'getOrganizationProjectStats',
  method: 'GET',
  path: '/organization/{organizationId}/project/stats',
  tag: 'Project',
  summary: 'Count the environments and services of each project of an organization',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'ProjectStats',
      Type.Object({ id: Uuid, service_total_number: Type.Integer(), environment_total_number: Type.Integer() }),
    ),
  ),
  errors: [],
});

export const getProjectEnvironmentServiceNumber = operation({
  id: 'getProjectEnvironmentServiceNumber',
  method: 'GET',
  path: '/project/{projectId}/environment/stats',
  tag,
  summary: 'Count the services of each environment of a project',
  scope: 'READ',
  target: 'project',
  status: 200,
  response: List(Named('EnvironmentStats', Type.Object({ id: Uuid, service_total_number: Type.Integer() }))),
  errors: [],
});

export const getProjectEnvironmentsStatus = operation({
  id: 'getProjectEnvironmentsStatus',
  method: 'GET',
  path: '/project/{projectId}/environment/status',
  tag,
  summary: 'Read the status of each environment of a project',
  scope: 'READ',
  target: 'project',
  status: 200,
  response: List(EnvironmentStatus),
  errors: [],
});

export const getProjectEnvironmentsOverview = operation({
  id: 'getProjectEnvironmentsOverview',
  method: 'GET',
  path: '/project/{projectId}/environment/overview',
  tag,
  summary: 'List the environments of a project with cluster, number of services and status',
  scope: 'READ',
  target: 'project',
  status: 200,
  response: List(
    Named(
      'EnvironmentOverview',
      Type.Object({
        id: Uuid,
        created_at: DateTime,
        updated_at: DateTime,
        name: Type.String(),
        mode: Words(environmentModes),
        cluster: Named(
          'EnvironmentOverviewCluster',
          Type.Object({
            id: Uuid,
            name: Type.String(),
            cloud_provider: Words(cloudProviders),
            is_demo: Type.Boolean(),
          }),
        ),
        services_overview: Named(
          'ServicesOverview',
          Type.Object({
            service_count: Type.Integer(),
            managed_by: Words(['SERVICE', 'ARGOCD', 'MIXED'] as const),
          }),
        ),
        deployment_status: Type.Optional(Nullable(EnvironmentStatus)),
      }),
    ),
  ),
  errors: [],
});

const statuses = Type.Array(ServiceStatus);
const StageSteps = Named(
  'StageStepMetrics',
  Type.Object({
    stage_id: Uuid,
    total_duration_sec: Nullable(Type.Integer()),
    details: Type.Array(
      Named(
        'StageStepMetric',
        Type.Object({
          stage_id: Uuid,
          step_name: Words(['TOTAL', 'QUEUEING', 'PROVISION_BUILDER'] as const),
          status: Words(stepStatuses),
          duration_sec: Type.Integer(),
        }),
      ),
    ),
  }),
);

export const getEnvironmentStatusesWithStages = operation({
  id: 'getEnvironmentStatusesWithStages',
  method: 'GET',
  path: `${at}/statusesWithStages`,
  tag,
  summary: 'Read the status of an environment, of its stages in their order and of the services in each',
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: Named(
    'EnvironmentStatusesWithStages',
    Type.Object({
      environment: EnvironmentStatus,
      stages: Type.Array(
        Named(
          'StageWithStatuses',
          Type.Object({
            stage: Named(
              'StageStatus',
              Type.Object({
                id: Uuid,
                name: Type.String(),
                description: Type.String(),
                status: Type.Optional(Words(stageStatuses)),
                steps: Type.Optional(StageSteps),
              }),
            ),
            applications: statuses,
            containers: statuses,
            jobs: statuses,
            databases: statuses,
            helms: statuses,
            terraforms: statuses,
          }),
        ),
      ),
    }),
  ),
  errors: [],
});

export const listEnvironmentServicesLinks = operation({
  id: 'listEnvironmentServicesLinks',
  method: 'GET',
  path: `${at}/link`,
  tag,
  summary: 'List the addresses of all services of an environment',
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(Link),
  errors: [],
});

/** States in the older log. Deployments have other states by now. */
export const environmentLogStates = [
  'CANCELED',
  'CANCELING',
  'DELETED',
  'DELETE_ERROR',
  'DELETE_IN_PROGRESS',
  'DEPLOYED',
  'DEPLOYMENT_ERROR',
  'DEPLOYMENT_IN_PROGRESS',
  'ERROR',
  'PAUSED',
  'PAUSE_ERROR',
  'PAUSE_IN_PROGRESS',
  'WAITING',
] as const;

export const listEnvironmentLog = operation({
  id: 'listEnvironmentLog',
  method: 'GET',
  path: `${at}/log`,
  tag,
  summary: 'Log of the latest deployment of an environment in the older shape, oldest line first; `…/logs` has more details',
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(
    Named(
      'EnvironmentLogEntry',
      Type.Object({
        id: Uuid,
        created_at: DateTime,
        scope: Type.Optional(
          Named(
            'EnvironmentLogScope',
            Type.Object({
              type: Words(['APPLICATION', 'DATABASE', 'ENVIRONMENT'] as const),
              name: Type.String(),
              id: Uuid,
            }),
          ),
        ),
        state: Type.Optional(Words(environmentLogStates)),
        message: Nullable(Type.String()),
        execution_id: Type.Optional(Type.String()),
        hint: Type.Optional(Type.String()),
      }),
    ),
  ),
  errors: [],
});

export const getDeploymentStatusByDeploymentRequestId = operation({
  id: 'getDeploymentStatusByDeploymentRequestId',
  method: 'GET',
  path: '/environment/deploymentStatus',
  tag: 'Deployment queue',
  summary: 'Read the state of a deployment request: waiting, running or ended',
  scope: 'READ',
  target: 'instance',
  query: Type.Object({ deploymentRequestId: Uuid }),
  status: 200,
  response: Named(
    'DeploymentRequestStatus',
    Type.Object({ deployment_request_id: Uuid, environment_id: Uuid, status: Words(serviceStates) }),
  ),
  errors: [400],
});
