import type { operations, Response } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { readOrganization } from '../organization/index.ts';
import { describeCluster } from './description.ts';
import { lockOf } from './lock.ts';
import { isLocal, openCluster, type ClusterPlace } from './place.ts';
import * as store from './store.ts';

export type ClusterStatus = Response<(typeof operations)['getClusterStatus']>;
type ClusterStatuses = Response<(typeof operations)['getOrganizationClusterStatus']>;
type Readiness = Response<(typeof operations)['getClusterReadinessStatus']>;
type Description = Awaited<ReturnType<typeof describeCluster>>;

export async function listClusterStatuses(deps: Deps, caller: Caller, organizationId: string): Promise<ClusterStatuses> {
  const rows = await readClusters(deps, caller, organizationId);
  return { results: await Promise.all(rows.map((row) => toStatus(deps, row))) };
}

export async function readClusterStatus(deps: Deps, caller: Caller, place: ClusterPlace): Promise<ClusterStatus> {
  return toStatus(deps, await openCluster(deps.database, caller, place));
}

/** Whether services can be deployed on it now. */
export async function readReadiness(deps: Deps, caller: Caller, place: ClusterPlace): Promise<Readiness> {
  const row = await openCluster(deps.database, caller, place);
  return { is_ready: (await descriptionOf(deps, row)) !== null };
}

export async function readClusters(deps: Deps, caller: Caller, organizationId: string): Promise<store.ClusterRow[]> {
  const rows = await deps.database.many(store.clusterList, [organizationId, caller.organizationId]);
  if (rows.length === 0) await readOrganization(deps, caller, organizationId);
  return rows;
}

/** What the cluster is, as long as it answers; a cluster that is only recorded has nothing that could. */
export async function descriptionOf(deps: Deps, row: store.ClusterRow): Promise<Description> {
  return isLocal(row) ? describeCluster(deps.engine, row.driver) : null;
}

/**
 * A local engine is found, not installed: it is DEPLOYED when it answers. The contract has no word for one that does not; of
 * its words, DEPLOYMENT_ERROR is the one that clients take for "ended, and needs a person", where STOPPED would say that
 * somebody wanted it so. Other clusters are READY: recorded, not installed.
 */
export function stateOf(row: store.ClusterRow, description: Description): ClusterStatus['status'] {
  if (!isLocal(row)) return 'READY';
  return description === null ? 'DEPLOYMENT_ERROR' : 'DEPLOYED';
}

/** `next_k8s_available_version` is always null: a container engine has no Kubernetes, and no other cluster is deployed. */
export async function toStatus(deps: Deps, row: store.ClusterRow): Promise<ClusterStatus> {
  return {
    cluster_id: row.id,
    status: stateOf(row, await descriptionOf(deps, row)),
    is_deployed: isLocal(row),
    next_k8s_available_version: null,
    cluster_lock: lockOf(row),
    ...(isLocal(row) ? { last_deployment_date: row.created_at } : {}),
    reason: 'UNSPECIFIED',
  };
}
