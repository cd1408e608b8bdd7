import Type from 'typebox';
import { operation } from '../operation.ts';
import { List, Nullable, Optionals, Named } from '../shape.ts';
import { ClusterLock, ClusterLog, ClusterStatus } from './shapes.ts';

const tag = 'Cluster';

export const getOrganizationClusterStatus = operation({
  id: 'getOrganizationClusterStatus',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/status',
  tag,
  summary: 'Read the status of all clusters of an organization',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(ClusterStatus),
  errors: [],
});

export const getClusterStatus = operation({
  id: 'getClusterStatus',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/status',
  tag,
  summary: 'Read the status of a cluster',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: ClusterStatus,
  errors: [],
});

export const getClusterReadinessStatus = operation({
  id: 'getClusterReadinessStatus',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/isReady',
  tag,
  summary: 'Check whether services can be deployed on a cluster now',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: Named('ClusterReadinessStatus', Type.Object({ is_ready: Type.Boolean() })),
  errors: [],
});

export const deployCluster = operation({
  id: 'deployCluster',
  method: 'POST',
  path: '/organization/{organizationId}/cluster/{clusterId}/deploy',
  tag,
  summary:
    'Deploy a cluster: check that it answers and grants Davit the permissions it needs; refused for clusters that Davit would have to install',
  scope: 'ADMIN',
  target: 'organization',
  query: Optionals({ dry_run: Type.Boolean() }),
  status: 200,
  response: ClusterStatus,
  errors: [400, 409],
});

export const stopCluster = operation({
  id: 'stopCluster',
  method: 'POST',
  path: '/organization/{organizationId}/cluster/{clusterId}/stop',
  tag,
  summary: 'Stop a cluster that is deployed',
  scope: 'ADMIN',
  target: 'organization',
  status: 202,
  response: ClusterStatus,
  errors: [409],
});

export const upgradeCluster = operation({
  id: 'upgradeCluster',
  method: 'POST',
  path: '/cluster/{clusterId}/upgrade',
  tag,
  summary: 'Upgrade a cluster to the next Kubernetes version',
  scope: 'ADMIN',
  target: 'cluster',
  status: 201,
  response: ClusterStatus,
  errors: [400, 409, 424],
});

export const listClusterLogs = operation({
  id: 'listClusterLogs',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/logs',
  tag,
  summary: 'Read the log of the deployments of a cluster, oldest line first',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(ClusterLog),
  errors: [],
});

export const lockCluster = operation({
  id: 'lockCluster',
  method: 'POST',
  path: '/cluster/{clusterId}/lock',
  event: 'LOCK',
  tag,
  summary: 'Lock a cluster against changes, for good or for some days; services are deployed on it as before',
  scope: 'ADMIN',
  target: 'cluster',
  body: Named(
    'ClusterLockRequest',
    Type.Object({
      reason: Type.String({ minLength: 1, maxLength: 1000, pattern: '\\S' }),
      ttl_in_days: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 3650 }))),
    }),
  ),
  status: 200,
  response: ClusterLock,
  errors: [400, 409],
});

export const unlockCluster = operation({
  id: 'unlockCluster',
  method: 'DELETE',
  path: '/cluster/{clusterId}/lock',
  event: 'UNLOCK',
  record: null,
  tag,
  summary: 'Unlock a cluster; no effect if it is not locked',
  scope: 'ADMIN',
  target: 'cluster',
  status: 204,
  response: null,
  errors: [],
});

export const listClusterLock = operation({
  id: 'listClusterLock',
  method: 'GET',
  path: '/organization/{organizationId}/lock',
  tag,
  summary: 'List the locks of an organization’s clusters',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(ClusterLock),
  errors: [],
});
