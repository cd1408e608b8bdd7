import Type from 'typebox';
import { operation } from '../operation.ts';
import { List, Optionals, Words, Named } from '../shape.ts';
import { CloudProviderInfo, CloudProviderInfoRequest, Cluster, ClusterEnvironment, ClusterRequest } from './shapes.ts';

const tag = 'Cluster';

export const listOrganizationCluster = operation({
  id: 'listOrganizationCluster',
  method: 'GET',
  path: '/organization/{organizationId}/cluster',
  tag,
  summary: 'List the clusters of an organization',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(Cluster),
  errors: [],
});

export const createCluster = operation({
  id: 'createCluster',
  method: 'POST',
  path: '/organization/{organizationId}/cluster',
  tag,
  summary: 'Record a cluster; nothing is installed before it is deployed',
  scope: 'ADMIN',
  target: 'organization',
  body: ClusterRequest,
  status: 201,
  response: Cluster,
  errors: [400, 409],
});

export const editCluster = operation({
  id: 'editCluster',
  method: 'PUT',
  path: '/organization/{organizationId}/cluster/{clusterId}',
  tag,
  summary: 'Edit a cluster; fields that are left out stay as they are',
  scope: 'ADMIN',
  target: 'organization',
  body: ClusterRequest,
  status: 200,
  response: Cluster,
  errors: [400, 409],
});

export const deleteCluster = operation({
  id: 'deleteCluster',
  method: 'DELETE',
  path: '/organization/{organizationId}/cluster/{clusterId}',
  tag,
  summary: 'Delete a cluster that has no environments and is not the default one',
  scope: 'ADMIN',
  target: 'organization',
  query: Optionals({
    deleteMode: Words(['DEFAULT', 'DELETE_CLUSTER_AND_SERVICE_CONFIG', 'DELETE_SERVICE_CONFIG'] as const, {
      default: 'DEFAULT',
      description:
        'All three remove the record; Davit never removes a cluster. DELETE_SERVICE_CONFIG: also if volumes of services that were moved elsewhere are left on it; these volumes stay there.',
    }),
  }),
  status: 204,
  response: null,
  errors: [400, 409],
});

export const getEnvironmentsByClusterId = operation({
  id: 'getEnvironmentsByClusterId',
  method: 'GET',
  path: '/cluster/{clusterId}/environments',
  tag,
  summary: 'List the environments on a cluster, with their services',
  scope: 'READ',
  target: 'cluster',
  status: 200,
  response: List(ClusterEnvironment),
  errors: [],
});

export const getOrganizationCloudProviderInfo = operation({
  id: 'getOrganizationCloudProviderInfo',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/cloudProviderInfo',
  tag,
  summary: 'Read the provider, region and credentials of a cluster',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: CloudProviderInfo,
  errors: [],
});

export const specifyClusterCloudProviderInfo = operation({
  id: 'specifyClusterCloudProviderInfo',
  method: 'POST',
  path: '/organization/{organizationId}/cluster/{clusterId}/cloudProviderInfo',
  tag,
  summary: 'Set the region and credentials of a cluster',
  scope: 'ADMIN',
  target: 'organization',
  body: CloudProviderInfoRequest,
  status: 201,
  response: CloudProviderInfo,
  errors: [400, 409],
});

const Route = Named(
  'ClusterRoute',
  Type.Object({
    destination: Type.String({ minLength: 1, maxLength: 255 }),
    target: Type.String({ minLength: 1, maxLength: 255 }),
    description: Type.String({ maxLength: 255 }),
  }),
);

export const getRoutingTable = operation({
  id: 'getRoutingTable',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/routingTable',
  tag,
  summary: 'Read the routes of a cluster’s network',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(Route),
  errors: [],
});

export const editRoutingTable = operation({
  id: 'editRoutingTable',
  method: 'PUT',
  path: '/organization/{organizationId}/cluster/{clusterId}/routingTable',
  tag,
  summary: 'Set the routes of a managed cluster’s network',
  scope: 'ADMIN',
  target: 'organization',
  body: Named('ClusterRoutingTableRequest', Type.Object({ routes: Type.Array(Route, { maxItems: 200 }) })),
  status: 201,
  response: List(Route),
  errors: [400, 409],
});
