import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, List, Named, Nullable, Optionals } from '../shape.ts';
import { ClusterLock, ClusterLog, ClusterStatus } from './shapes.ts';

const tag = 'Cluster';

export const getOrganizationClusterStatus = operation({
  id: 'getOrganizationClusterStatus',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/status',
  tag,
  summary: 'Read the statuses of all clusters',
  description: `
    Returns the status of each cluster of the organization, oldest first. All are asked at the same time; an answer is reused
    for ten seconds.
  `,
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
  description: `
    Returns whether the cluster answers and grants Davit what it needs, the version to upgrade to, and the lock. An answer is
    reused for ten seconds. Deploy the cluster to get the reasons in its log.
  `,
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
  summary: 'Check whether a cluster is ready',
  description: `
    Returns whether the cluster answers and grants Davit what it needs, so that services can be deployed on it. An answer is
    reused for ten seconds.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: Named(
    'ClusterReadinessStatus',
    Type.Object({ is_ready: about('Whether services can be deployed on it now.', Type.Boolean()) }),
    'Whether a cluster is ready.',
  ),
  errors: [],
});

export const deployCluster = operation({
  id: 'deployCluster',
  method: 'POST',
  path: '/organization/{organizationId}/cluster/{clusterId}/deploy',
  tag,
  summary: 'Check and connect a cluster',
  description: `
    Checks that the cluster answers and grants Davit the permissions that it needs, and writes the result to its log. Nothing
    is installed or restarted. A failed check is no error: read the status in the answer.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_NOT_PROVISIONABLE\` (409) | The cluster is MANAGED. | Use a SELF_MANAGED cluster. |
    | \`CLUSTER_NOT_DEPLOYED\` (409) | The cluster has no kubeconfig. | Store one first. |
    | \`CLUSTER_LOCKED\` (409) | The cluster is locked. | Unlock it. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  query: Optionals({ dry_run: about('Only check, and record nothing.', Type.Boolean()) }),
  status: 200,
  response: ClusterStatus,
  errors: [400, 409],
});

export const stopCluster = operation({
  id: 'stopCluster',
  method: 'POST',
  path: '/organization/{organizationId}/cluster/{clusterId}/stop',
  tag,
  summary: 'Stop a cluster',
  description: `
    Always refused: Davit starts and stops no clusters. Stop the environments on it instead.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_KIND_UNSUPPORTED\` (409) | Davit did not start the cluster. | Stop its environments. |
    | \`CLUSTER_LOCKED\` (409) | The cluster is locked. | Unlock it. |
    | \`CLUSTER_NOT_DEPLOYED\` (409) | The cluster is only recorded. | Nothing to do. |
  `,
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
  summary: 'Upgrade a cluster',
  description: `
    Starts the upgrade of a cluster, whose operator has set that up, to \`next_k8s_available_version\`, one node at a time.
    Services can be deployed meanwhile; the status is DEPLOYING until the end. A repetition changes nothing.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_KIND_UNSUPPORTED\` (409) | It is not set up, or there is no newer version. | Follow the message. |
    | \`CLUSTER_NOT_DEPLOYED\` (409) | The cluster is only recorded. | Store its kubeconfig. |
    | \`CLUSTER_LOCKED\` (409) | The cluster is locked. | Unlock it. |
    | \`CLUSTER_UNREACHABLE\` (424) | The cluster does not answer. | Check it, then try again. |
    | \`REMOTE_REFUSED\` (424) | The cluster refuses it. | Follow the message. |
  `,
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
  summary: 'Read the log of a cluster',
  description: `
    Returns what was done with the cluster, oldest line first, with the reason if it cannot be used: what does not answer, or
    which permissions are missing.
  `,
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
  summary: 'Lock a cluster',
  description: `
    Prevents edits, deployments, upgrades and deletion of the cluster until it is unlocked or the days are over. Services
    are deployed on it as before.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_LOCKED\` (409) | The cluster has a lock already. | Unlock it first. |
  `,
  scope: 'ADMIN',
  target: 'cluster',
  body: Named(
    'ClusterLockRequest',
    Type.Object({
      reason: about('Why it is locked; others see it.', Type.String({ minLength: 1, maxLength: 1000, pattern: '\\S' })),
      ttl_in_days: Type.Optional(
        about('After how many days it expires. Left out or null: never.', Nullable(Type.Integer({ minimum: 1, maximum: 3650 }))),
      ),
    }),
    'Why a cluster is locked, and for how long.',
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
  summary: 'Unlock a cluster',
  description: `
    Removes the lock of the cluster, whoever made it and however long it would last. It has no effect on a cluster
    without a lock.
  `,
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
  summary: 'List the locks of the clusters',
  description: `
    Returns the locks of the organization's clusters, oldest first, with who locked them, why, and for how long. Expired locks
    are not among them.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(ClusterLock),
  errors: [],
});
