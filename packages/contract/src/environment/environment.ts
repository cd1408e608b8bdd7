import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Reference, Uuid, Words } from '../shape.ts';
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
    name: about('Its name, unique in the project without regard to case.', Type.String()),
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
      name: about('Its name, unique in the project without regard to case.', Name),
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
      name: Type.Optional(about('Its new name, unique in the project without regard to case.', Name)),
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
