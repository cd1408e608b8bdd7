import Type from 'typebox';
import { cloudProviders } from '../cluster/shapes.ts';
import { operation } from '../operation.ts';
import { Link } from '../service/parts.ts';
import { about, DateTime, enumeration, List, Named, Nullable, Reference, Uuid, Words } from '../shape.ts';
import { EnvironmentStatus, ServiceStatus } from '../shared/deployment.ts';
import { environmentModes, jobTypes, serviceStates, serviceTypes, stageStatuses, stepStatuses } from '../shared/words.ts';

const tag = 'Environment';
const at = '/environment/{environmentId}' as const;

export const listEnvironmentsByOrganizationId = operation({
  id: 'listEnvironmentsByOrganizationId',
  method: 'GET',
  path: '/organization/{organizationId}/environments',
  tag,
  summary: 'List the environments of an organization',
  description: `
    Returns the environments of all projects, oldest first, without their statuses. A caller with a custom role gets
    those that the role may see.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'OrganizationEnvironment',
      Type.Object({
        id: about('Identifies it; it never changes.', Uuid),
        created_at: about('When it was created.', DateTime),
        updated_at: Type.Optional(about('When it was last changed.', DateTime)),
        name: about('The name of the environment.', Type.String()),
        organization: about('The organization that owns it.', Reference),
        project: about('The project of the environment.', Reference),
        mode: Words(environmentModes),
      }),
      'An environment of an organization.',
    ),
  ),
  errors: [],
});

export const listServicesByOrganizationId = operation({
  id: 'listServicesByOrganizationId',
  method: 'GET',
  path: '/organization/{organizationId}/services',
  tag: 'Organization',
  summary: 'List the services of an organization',
  description: `
    Returns the services of every type with the names of project and environment, oldest first. The query restricts
    the list to a project, an environment or a cluster.
  `,
  scope: 'READ',
  target: 'organization',
  query: Type.Partial(
    Type.Object({
      project_id: about('Only services of this project.', Uuid),
      environment_id: about('Only services of this environment.', Uuid),
      cluster_id: about('Only services on this cluster.', Uuid),
    }),
  ),
  status: 200,
  response: List(
    Named(
      'OrganizationService',
      Type.Object({
        id: about('The `id` of the service.', Uuid),
        name: about('The name of the service.', Type.String()),
        description: about('What it is for; may be empty.', Type.String()),
        icon_uri: about('The icon of the service.', Type.String()),
        service_type: Words(serviceTypes),
        project_id: about('The project of the service.', Uuid),
        project_name: about('The name of the project.', Type.String()),
        environment_id: about('The environment of the service.', Uuid),
        environment_name: about('The name of the environment.', Type.String()),
        cluster_id: about('The cluster of the service.', Uuid),
        job_type: Type.Optional(about('Present for jobs only.', Words(jobTypes))),
      }),
      'A service, with the names of where it is.',
    ),
  ),
  errors: [400],
});

export const getOrganizationProjectStats = operation({
  id: 'getOrganizationProjectStats',
  method: 'GET',
  path: '/organization/{organizationId}/project/stats',
  tag: 'Project',
  summary: 'Count what the projects of an organization have',
  description: `
    Returns the number of environments and services of each project, oldest project first. Services that are being
    deleted count.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'ProjectStats',
      Type.Object({
        id: about('The `id` of the project.', Uuid),
        service_total_number: about('How many services it has.', Type.Integer()),
        environment_total_number: about('How many environments it has.', Type.Integer()),
      }),
      'The size of a project.',
    ),
  ),
  errors: [],
});

export const getProjectEnvironmentServiceNumber = operation({
  id: 'getProjectEnvironmentServiceNumber',
  method: 'GET',
  path: '/project/{projectId}/environment/stats',
  tag,
  summary: 'Count the services of each environment',
  description: `
    Returns the number of services of each environment of the project, oldest environment first. Services that are
    being deleted count.
  `,
  scope: 'READ',
  target: 'project',
  status: 200,
  response: List(
    Named(
      'EnvironmentStats',
      Type.Object({
        id: about('The `id` of the environment.', Uuid),
        service_total_number: about('How many services it has.', Type.Integer()),
      }),
      'The size of an environment.',
    ),
  ),
  errors: [],
});

export const getProjectEnvironmentsStatus = operation({
  id: 'getProjectEnvironmentsStatus',
  method: 'GET',
  path: '/project/{projectId}/environment/status',
  tag,
  summary: 'Read the statuses of the environments',
  description: `
    Returns the status of each environment of the project, oldest first. One request is cheaper than one for each
    environment.
  `,
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
  summary: 'Read an overview of a project',
  description: `
    Returns the environments of the project, each with its cluster, number of services and status: what a page about
    the project shows.
  `,
  scope: 'READ',
  target: 'project',
  status: 200,
  response: List(
    Named(
      'EnvironmentOverview',
      Type.Object({
        id: about('Identifies it; it never changes.', Uuid),
        created_at: about('When it was created.', DateTime),
        updated_at: about('When it was last edited.', DateTime),
        name: about('The name of the environment.', Type.String()),
        mode: Words(environmentModes),
        cluster: Named(
          'EnvironmentOverviewCluster',
          Type.Object({
            id: about('Identifies it; it never changes.', Uuid),
            name: about('The name of the cluster.', Type.String()),
            cloud_provider: Words(cloudProviders),
            is_demo: about('Whether it is the cluster `Local`.', Type.Boolean()),
          }),
          'The cluster of an environment.',
        ),
        services_overview: Named(
          'ServicesOverview',
          Type.Object({
            service_count: about('How many services it has.', Type.Integer()),
            managed_by: about(
              'What manages them; always SERVICE.',
              Words({ SERVICE: 'Davit itself.', ARGOCD: 'Argo CD; not supported.', MIXED: 'Both of them; not supported.' }),
            ),
          }),
          'The number of services.',
        ),
        deployment_status: Type.Optional(about('The status of the environment.', Nullable(EnvironmentStatus))),
      }),
      'An environment with its cluster, services and status.',
    ),
  ),
  errors: [],
});

const statuses = Type.Array(ServiceStatus);
const StageSteps = Named(
  'StageStepMetrics',
  Type.Object({
    stage_id: about('The `id` of the stage.', Uuid),
    total_duration_sec: about('Seconds in total; null until it has ended.', Nullable(Type.Integer())),
    details: about(
      'The measured steps.',
      Type.Array(
        Named(
          'StageStepMetric',
          Type.Object({
            stage_id: about('The `id` of the stage.', Uuid),
            step_name: about(
              'The measured step.',
              Words({
                TOTAL: 'The stage as a whole.',
                QUEUEING: 'The time of waiting.',
                PROVISION_BUILDER: 'The time to get a builder.',
              }),
            ),
            status: Words(stepStatuses),
            duration_sec: about('Its duration in seconds.', Type.Integer()),
          }),
          'The time of one step of a stage.',
        ),
      ),
    ),
  }),
  'How long a stage took.',
);

export const getEnvironmentStatusesWithStages = operation({
  id: 'getEnvironmentStatusesWithStages',
  method: 'GET',
  path: `${at}/statusesWithStages`,
  tag,
  summary: 'Read the statuses by stage',
  description: `
    Returns the status of the environment, and its stages in their order, each with the statuses of its services. The
    progress is that of the running deployment, else of the next, else of the last one.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: Named(
    'EnvironmentStatusesWithStages',
    Type.Object({
      environment: EnvironmentStatus,
      stages: about(
        'The stages, in their order.',
        Type.Array(
          Named(
            'StageWithStatuses',
            Type.Object({
              stage: Named(
                'StageStatus',
                Type.Object({
                  id: about('The `id` of the stage.', Uuid),
                  name: about('The name of the stage.', Type.String()),
                  description: about('What it is for; may be empty.', Type.String()),
                  status: Type.Optional(about('How far it is. Absent: there was no deployment.', Words(stageStatuses))),
                  steps: Type.Optional(about('How long it took. Absent: it was not part of it.', StageSteps)),
                }),
                'A stage with its progress in a deployment.',
              ),
              applications: about('The statuses of the applications.', statuses),
              containers: about('The statuses of the containers.', statuses),
              jobs: about('The statuses of the jobs.', statuses),
              databases: about('The statuses of the databases.', statuses),
              helms: about('The statuses of the Helm charts.', statuses),
              terraforms: about('The statuses of the Terraform configurations.', statuses),
            }),
            'A stage with the statuses of its services.',
          ),
        ),
      ),
    }),
    'The status of an environment by its stages.',
  ),
  errors: [],
});

export const listEnvironmentServicesLinks = operation({
  id: 'listEnvironmentServicesLinks',
  method: 'GET',
  path: `${at}/link`,
  tag,
  summary: 'List the addresses of an environment',
  description: `
    Returns the addresses of the public ports of all services, custom domains included. Of a service that was never
    deployed they are those of the configuration, where nothing answers yet.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(Link),
  errors: [],
});

/** States in the older log. Deployments have other states by now. */
export const environmentLogStates = enumeration(
  'EnvironmentLogState',
  {
    CANCELED: 'It was canceled.',
    CANCELING: 'It is being canceled.',
    DELETED: 'It was deleted.',
    DELETE_ERROR: 'The deletion failed.',
    DELETE_IN_PROGRESS: 'It is being deleted.',
    DEPLOYED: 'It was deployed.',
    DEPLOYMENT_ERROR: 'The deployment failed.',
    DEPLOYMENT_IN_PROGRESS: 'It is being deployed.',
    ERROR: 'Something failed.',
    PAUSED: 'It was stopped.',
    PAUSE_ERROR: 'The stop failed.',
    PAUSE_IN_PROGRESS: 'It is being stopped.',
    WAITING: 'It waits for its turn.',
  },
  'A state in the older log.',
);

export const listEnvironmentLog = operation({
  id: 'listEnvironmentLog',
  method: 'GET',
  path: `${at}/log`,
  tag,
  summary: "Read the latest deployment's log, older form",
  description: `
    Returns the lines of the latest deployment, oldest first, with fewer fields than the second form of the log,
    which you should prefer.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(
    Named(
      'EnvironmentLogEntry',
      Type.Object({
        id: about('Identifies it; it never changes.', Uuid),
        created_at: about('When it was written.', DateTime),
        scope: Type.Optional(
          about(
            'What the line is about. Absent: nothing special.',
            Named(
              'EnvironmentLogScope',
              Type.Object({
                type: about(
                  'The type of the record.',
                  Words({
                    APPLICATION: 'A service that is no database.',
                    DATABASE: 'A database of the environment.',
                    ENVIRONMENT: 'The environment as a whole.',
                  }),
                ),
                name: about('The name of the record.', Type.String()),
                id: about('The `id` of the record.', Uuid),
              }),
              'What a line is about.',
            ),
          ),
        ),
        state: Type.Optional(about('The state at that time.', Words(environmentLogStates))),
        message: about('The text of the line; null: none.', Nullable(Type.String())),
        execution_id: Type.Optional(about('The deployment: `<environment id>-<number>`.', Type.String())),
        hint: Type.Optional(about('What to do about a failure. Absent: no failure.', Type.String())),
      }),
      'A line of the older log.',
    ),
  ),
  errors: [],
});

export const getDeploymentStatusByDeploymentRequestId = operation({
  id: 'getDeploymentStatusByDeploymentRequestId',
  method: 'GET',
  path: '/environment/deploymentStatus',
  tag: 'Deployment queue',
  summary: 'Read the state of a deployment request',
  description: `
    Returns whether the request waits, runs or has ended, by the \`id\` that a deployment's answer or the queue has.
    An \`id\` that was withdrawn is unknown.
  `,
  scope: 'READ',
  target: 'instance',
  query: Type.Object({ deploymentRequestId: about('The `id` of the request.', Uuid) }),
  status: 200,
  response: Named(
    'DeploymentRequestStatus',
    Type.Object({
      deployment_request_id: about('The `id` of the request.', Uuid),
      environment_id: about('The environment of the request.', Uuid),
      status: about('The state of the deployment.', Words(serviceStates)),
    }),
    'How far a deployment request is.',
  ),
  errors: [400],
});
