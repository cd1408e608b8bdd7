import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, Named, Nullable, Uuid, Words } from '../shape.ts';
import { DeployedEnvironmentAsService, EnvironmentStatus } from '../shared/status.ts';
import { terraformActions } from '../shared/words.ts';

/*
 * Actions on several services of an environment. One deployment covers all of them; the request is refused as a whole
 * if one of the ids is invalid. Types of services that are not served yet have lists too, but no id in them is valid.
 */

const tag = 'Environment';
const at = '/environment/{environmentId}/service' as const;
const largestSelection = 500;

const list = <Item extends Parameters<typeof Type.Array>[0]>(item: Item) =>
  Type.Optional(Nullable(Type.Array(item, { maxItems: largestSelection })));
const ids = about('The `id` of each service.', list(Uuid));
const version = Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 255 })));
const commit = Type.Optional(Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' })));

const ServiceIds = Named(
  'ServiceIdsRequest',
  Type.Object({
    application_ids: about('Applications of the environment.', ids),
    container_ids: about('Containers of the environment.', ids),
    database_ids: about('Databases of the environment.', ids),
    job_ids: about('Jobs of the environment.', ids),
    helm_ids: about('Helm charts of the environment.', ids),
    terraform_ids: about('Terraform configurations of the environment.', ids),
  }),
  'The services that the action is for, at most 500 of each type.',
);

const DeployAllRequest = Named(
  'DeployAllRequest',
  Type.Object({
    applications: about(
      'Applications of the environment.',
      list(
        Named(
          'DeployAllApplication',
          Type.Object({
            application_id: about('The `id` of the application.', Uuid),
            git_commit_id: about('A commit; by default the newest of the branch.', commit),
          }),
          'An application to deploy.',
        ),
      ),
    ),
    databases: about('The ids of databases of the environment.', ids),
    containers: about(
      'Containers of the environment.',
      list(
        Named(
          'DeployAllContainer',
          Type.Object({
            id: about('The `id` of the container.', Uuid),
            image_tag: about('Another tag, which becomes the configured one.', version),
          }),
          'A container to deploy.',
        ),
      ),
    ),
    jobs: about(
      'Jobs of the environment.',
      list(
        Named(
          'DeployAllJob',
          Type.Object({
            id: Type.Optional(about('The `id` of the job; required.', Nullable(Uuid))),
            image_tag: about('Another tag, which becomes the configured one.', version),
            git_commit_id: about('A commit; by default the newest of the branch.', commit),
          }),
          'A job to deploy, by its `id`.',
        ),
      ),
    ),
    helms: about(
      'Helm charts of the environment.',
      list(
        Named(
          'DeployAllHelm',
          Type.Object({
            id: Type.Optional(about('The `id` of the Helm chart; required.', Nullable(Uuid))),
            chart_version: about('Another version, which becomes the configured one.', version),
            git_commit_id: about('A commit of the chart; by default the newest.', commit),
            values_override_git_commit_id: about('A commit of the values; by default the newest.', commit),
          }),
          'A Helm chart to deploy.',
        ),
      ),
    ),
    terraforms: about(
      'Terraform configurations of the environment.',
      list(
        Named(
          'DeployAllTerraform',
          Type.Object({
            id: Type.Optional(about('The `id` of the configuration; required.', Nullable(Uuid))),
            git_commit_id: about('A commit; by default the newest of the branch.', commit),
            action: Type.Optional(about('What to do instead of an apply.', Nullable(Words(terraformActions)))),
          }),
          'A Terraform configuration to deploy.',
        ),
      ),
    ),
  }),
  'The services to deploy, at most 500 of each type.',
);

export const deployAllServices = operation({
  id: 'deployAllServices',
  method: 'POST',
  path: `${at}/deploy`,
  tag,
  summary: 'Deploy some services of an environment',
  description: `
    Deploys the named services in one deployment, stage by stage, each at its newest version or the given one. The
    request waits for its turn. If one id is wrong or that of a skipped service, nothing is deployed.
  `,
  scope: 'DEPLOY',
  target: 'environment',
  body: DeployAllRequest,
  status: 202,
  response: EnvironmentStatus,
  errors: [400, 409],
});

export const stopSelectedServices = operation({
  id: 'stopSelectedServices',
  method: 'POST',
  path: `${at}/stop`,
  tag,
  summary: 'Stop some services of an environment',
  description: `
    Stops the named services in one deployment; their volumes stay. If one id is wrong or that of a skipped service,
    nothing is stopped. The answer is empty: read the status.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NOT_SUPPORTED\` (400) | One of the services is a Terraform configuration. | Leave it out. |
    | \`NEVER_DEPLOYED\` (409) | One of the services was never deployed. | Leave it out. |
  `,
  scope: 'DEPLOY',
  target: 'environment',
  body: ServiceIds,
  status: 200,
  response: null,
  errors: [400, 409],
});

export const rebootServices = operation({
  id: 'rebootServices',
  method: 'POST',
  path: `${at}/restart-service`,
  tag,
  summary: 'Restart some services of an environment',
  description: `
    Replaces the instances of the named services by new ones of the same releases, in one deployment. If one id is
    wrong or that of a skipped service, nothing is restarted.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NEVER_DEPLOYED\` (409) | One of the services was never deployed. | Leave it out. |
  `,
  scope: 'DEPLOY',
  target: 'environment',
  body: Named(
    'RebootServicesRequest',
    Type.Pick(ServiceIds, ['application_ids', 'database_ids', 'container_ids']),
    'The services to restart.',
  ),
  status: 202,
  // The public description returns the status of one of the services here. The status of the environment is a superset
  // of its fields.
  response: Named(
    'RebootServicesResponse',
    Type.Intersect([EnvironmentStatus, DeployedEnvironmentAsService]),
    `The status of the environment, with the fields of a service's status for older clients.`,
  ),
  errors: [400, 409],
});

export const deleteSelectedServices = operation({
  id: 'deleteSelectedServices',
  method: 'POST',
  path: `${at}/delete`,
  tag,
  summary: 'Delete some services of an environment',
  description: `
    Deletes the named services with their data, in one deployment. This cannot be undone. Those that are being
    deleted already are passed over; if one id is wrong, nothing is deleted.
  `,
  scope: 'WRITE',
  target: 'environment',
  body: ServiceIds,
  status: 200,
  response: null,
  errors: [400, 409],
});

export const uninstallSelectedServices = operation({
  id: 'uninstallSelectedServices',
  method: 'POST',
  path: `${at}/uninstall`,
  tag,
  summary: 'Uninstall some services of an environment',
  description: `
    Removes the named services from the cluster with their data, in one deployment. Their configurations stay and
    can be deployed again.
  `,
  scope: 'WRITE',
  target: 'environment',
  body: ServiceIds,
  status: 200,
  response: null,
  errors: [400, 409],
});

export const uninstallEnvironment = operation({
  id: 'uninstallEnvironment',
  method: 'POST',
  path: '/environment/{environmentId}/uninstall',
  tag,
  summary: 'Uninstall an environment',
  description: `
    Removes all services from the cluster with their data, skipped ones too. The configurations stay and can be
    deployed again.
  `,
  scope: 'WRITE',
  target: 'environment',
  status: 202,
  response: Named('UninstallEnvironmentResponse', Type.Object({}), 'An empty object: it was requested.'),
  errors: [409],
});
