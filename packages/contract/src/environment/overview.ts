import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Named, Nullable, Reference, Uuid, Words } from '../shape.ts';
import { EnvironmentStatus } from '../shared/status.ts';
import { environmentModes, jobTypes, serviceTypes } from '../shared/words.ts';
import { cloudProviders } from '../cluster/shapes.ts';
import { Link } from '../service/parts.ts';

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
