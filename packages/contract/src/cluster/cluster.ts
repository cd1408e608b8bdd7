import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, List, Named, Optionals, Words } from '../shape.ts';
import { CloudProviderInfo, CloudProviderInfoRequest, Cluster, ClusterEnvironment, ClusterRequest } from './shapes.ts';

const tag = 'Cluster';

export const listOrganizationCluster = operation({
  id: 'listOrganizationCluster',
  method: 'GET',
  path: '/organization/{organizationId}/cluster',
  tag,
  summary: 'List the clusters of an organization',
  description: `
    Returns the clusters of the organization, oldest first, with status, version, CPU and memory. The first one is
    \`Local\`: the container engine of the machine that Davit runs on.
  `,
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
  summary: 'Create a cluster',
  description: `
    Records a cluster; nothing is installed. For one of yours, use SELF_MANAGED, store its kubeconfig, and deploy the cluster
    to check it. MANAGED ones cannot be deployed.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`BILLING_RESTRICTION\` (403) | The organization is restricted. | Use a SELF_MANAGED cluster. |
    | \`NAME_TAKEN\` (409) | A cluster of the organization has the name. | Choose another name. |
  `,
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
  summary: 'Edit a cluster',
  description: `
    Changes the record; optional fields that you leave out stay. The cluster itself and what runs on it do not change.
    \`cloud_provider\` and \`kubernetes\` cannot change, nor can the region of \`Local\`.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A cluster of the organization has the name. | Choose another name. |
    | \`CLUSTER_LOCKED\` (409) | The cluster is locked. | Unlock it. |
  `,
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
  summary: 'Delete a cluster',
  description: `
    Deletes the record of a cluster without environments, with its kubeconfig. The cluster itself keeps running.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | Environments, or volumes of services that moved away, are on it. | Delete them; for volumes see \`deleteMode\`. |
    | \`CLUSTER_IS_DEFAULT\` (409) | It is \`Local\`. | Nothing to do. |
    | \`CLUSTER_LOCKED\` (409) | The cluster is locked. | Unlock it. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  query: Optionals({
    deleteMode: about(
      'Whether volumes that services left on the cluster prevent the deletion.',
      Words(
        {
          DEFAULT: 'Refused while volumes are left on it.',
          DELETE_CLUSTER_AND_SERVICE_CONFIG: 'The same as DEFAULT.',
          DELETE_SERVICE_CONFIG: 'Also with volumes, which stay there.',
        },
        {
          default: 'DEFAULT',
          description: 'All three delete the record only: Davit never removes a cluster.',
        },
      ),
    ),
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
  summary: 'List the environments on a cluster',
  description: `
    Returns the environments on the cluster with their projects and services. While there are any, the cluster
    cannot be deleted.
  `,
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
  summary: 'Read the cloud account of a cluster',
  description: `
    Returns the vendor, the region, and the \`id\` and name of the credentials of the cluster. They are stored only: Davit
    does not sign in at vendors.
  `,
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
  summary: 'Set the cloud account of a cluster',
  description: `
    Stores the region and the credentials of a cluster; fields that you leave out stay. They are stored only: Davit does not
    sign in at vendors. The vendor of a cluster cannot change.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_LOCKED\` (409) | The cluster is locked. | Unlock it. |
  `,
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
    destination: about('The range of addresses, such as `10.1.0.0/16`.', Type.String({ minLength: 1, maxLength: 255 })),
    target: about('Where traffic to them goes.', Type.String({ minLength: 1, maxLength: 255 })),
    description: about('What it is for; may be empty.', Type.String({ maxLength: 255 })),
  }),
  `A route of a cluster's network.`,
);

export const getRoutingTable = operation({
  id: 'getRoutingTable',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/routingTable',
  tag,
  summary: 'Read the routes of a cluster',
  description: `
    Returns the routes that are stored for the network of a MANAGED cluster. The list is empty for other clusters, whose
    networks Davit does not manage.
  `,
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
  summary: 'Set the routes of a cluster',
  description: `
    Replaces the routes that are stored for the network of a MANAGED cluster. They are stored only: Davit deploys no
    MANAGED cluster yet.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_KIND_UNSUPPORTED\` (409) | The cluster is not MANAGED. | Set routes where its network is. |
    | \`CLUSTER_LOCKED\` (409) | The cluster is locked. | Unlock it. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'ClusterRoutingTableRequest',
    Type.Object({ routes: about('The routes; the list replaces the former one.', Type.Array(Route, { maxItems: 200 })) }),
    'The routes of a cluster.',
  ),
  status: 201,
  response: List(Route),
  errors: [400, 409],
});
