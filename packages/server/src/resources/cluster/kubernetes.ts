import type { operations, Query } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { invalid } from '../shared/problems.ts';
import { notDeployed, unsupported } from './deployment.ts';
import { findCluster, isLocal, openCluster, type ClusterIds } from './cluster-ids.ts';

type EventsQuery = Query<(typeof operations)['getClusterKubernetesEvents']>;

/** Always fails, with NOT_FOUND, VALIDATION_FAILED, CLUSTER_KIND_UNSUPPORTED or CLUSTER_NOT_DEPLOYED. */
export async function readEvents(deps: Needs<'database'>, caller: Caller, clusterId: string, query: EventsQuery): Promise<never> {
  const row = await openCluster(deps.database, caller, await findCluster(deps.database, caller, clusterId));
  if (Date.parse(query.to_date_time) < Date.parse(query.from_date_time)) {
    throw invalid('to_date_time', 'must not be before from_date_time');
  }
  if (!isLocal(row)) {
    if (row.kubernetes === 'MANAGED' || !row.has_access) throw notDeployed(row, 'Davit reads no events of it');
    throw unsupported(`Davit reads no events of clusters: read those of ${row.name} with kubectl and its kubeconfig.`);
  }
  throw unsupported(
    `The cluster ${row.name} is the container engine of this machine, which keeps no events. What happened to a service is in its ` +
      'log, its deployment history and the deployment logs of its environment; the live streams report it as it happens.',
  );
}

/** Always fails, with NOT_FOUND, CLUSTER_KIND_UNSUPPORTED or CLUSTER_NOT_DEPLOYED. */
export async function readToken(deps: Needs<'database'>, caller: Caller, clusterId: string): Promise<never> {
  const row = await openCluster(deps.database, caller, await findCluster(deps.database, caller, clusterId));
  if (isLocal(row)) {
    throw unsupported(
      `The cluster ${row.name} is the container engine of this machine, not Kubernetes: nobody needs a token for it.`,
    );
  }
  if (row.kubernetes === 'MANAGED') throw notDeployed(row, 'its vendor gives no token for it');
  throw unsupported(
    `The cluster ${row.name} is managed by its owner: its credentials are those of the kubeconfig that was stored for it. ` +
      'Read that with GET /organization/{organizationId}/cluster/{clusterId}/kubeconfig.',
  );
}

/** Always fails, with NOT_FOUND or CLUSTER_KIND_UNSUPPORTED. */
export async function readInstallationValues(deps: Needs<'database'>, caller: Caller, ids: ClusterIds): Promise<never> {
  const row = await openCluster(deps.database, caller, ids);
  if (isLocal(row)) {
    throw unsupported(`The cluster ${row.name} is the container engine of this machine: there is no chart to install on it.`);
  }
  throw unsupported(
    `Davit installs no chart of its own on the cluster ${row.name}, so there are no values for one. A cluster of your own needs a ` +
      'kubeconfig only: store it with PUT /organization/{organizationId}/cluster/{clusterId}/kubeconfig.',
  );
}
