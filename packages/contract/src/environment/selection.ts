import Type from 'typebox';
import { operation } from '../operation.ts';
import { Nullable, Uuid, Words, Named } from '../shape.ts';
import { EnvironmentStatus, ServiceStatus } from '../shared/deployment.ts';

/*
 * Actions on several services of an environment. One deployment covers all of them; the request is refused as a whole
 * if one of the ids is invalid. Types of services that are not served yet have lists too, but no id in them is valid.
 */

const tag = 'Environment';
const at = '/environment/{environmentId}/service' as const;
const largestSelection = 500;

const list = <Item extends Parameters<typeof Type.Array>[0]>(item: Item) =>
  Type.Optional(Nullable(Type.Array(item, { maxItems: largestSelection })));
const ids = list(Uuid);
const version = Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 255 })));
const commit = Type.Optional(Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' })));

const ServiceIds = Named(
  'ServiceIdsRequest',
  Type.Object({
    application_ids: ids,
    container_ids: ids,
    database_ids: ids,
    job_ids: ids,
    helm_ids: ids,
    terraform_ids: ids,
  }),
);

const DeployAllRequest = Named(
  'DeployAllRequest',
  Type.Object({
    applications: list(Named('DeployAllApplication', Type.Object({ application_id: Uuid, git_commit_id: commit }))),
    databases: ids,
    containers: list(Named('DeployAllContainer', Type.Object({ id: Uuid, image_tag: version }))),
    jobs: list(
      Named('DeployAllJob', Type.Object({ id: Type.Optional(Nullable(Uuid)), image_tag: version, git_commit_id: commit })),
    ),
    helms: list(
      Named(
        'DeployAllHelm',
        Type.Object({
          id: Type.Optional(Nullable(Uuid)),
          chart_version: version,
          git_commit_id: commit,
          values_override_git_commit_id: commit,
        }),
      ),
    ),
    terraforms: list(
      Named(
        'DeployAllTerraform',
        Type.Object({
          id: Type.Optional(Nullable(Uuid)),
          git_commit_id: commit,
          action: Type.Optional(Nullable(Words(['PLAN', 'FORCE_UNLOCK', 'MIGRATE_STATE'] as const))),
        }),
      ),
    ),
  }),
);

export const deployAllServices = operation({
  id: 'deployAllServices',
  method: 'POST',
  path: `${at}/deploy`,
  tag,
  summary: 'Deploy the named services of an environment in one deployment, each at its newest version or the given one',
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
  summary: 'Stop the named services of an environment; their data stays',
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
  summary: 'Restart the named services of an environment',
  scope: 'DEPLOY',
  target: 'environment',
  body: Named('RebootServicesRequest', Type.Pick(ServiceIds, ['application_ids', 'database_ids', 'container_ids'])),
  status: 202,
  // The public description returns the status of one of the services here. The status of the environment is a superset
  // of its fields.
  response: Named(
    'RebootServicesResponse',
    Type.Intersect([
      EnvironmentStatus,
      Named('DeployedEnvironmentAsService', Type.Omit(ServiceStatus, ['last_deployment_date', 'deployment_request_id'])),
    ]),
  ),
  errors: [400, 409],
});

export const deleteSelectedServices = operation({
  id: 'deleteSelectedServices',
  method: 'POST',
  path: `${at}/delete`,
  tag,
  summary: 'Delete the named services of an environment with their data; those that are already being deleted are skipped',
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
  summary: 'Uninstall the named services from the cluster; their records stay',
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
  summary: 'Uninstall all services of an environment from the cluster, including skipped ones; the records stay',
  scope: 'WRITE',
  target: 'environment',
  status: 202,
  response: Named('UninstallEnvironmentResponse', Type.Object({})),
  errors: [409],
});
