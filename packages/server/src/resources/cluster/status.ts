import type { operations, Response } from '@davit/contract';
import type { ClusterState } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { recordsOf } from '../organization/index.ts';
import { lockOf } from './lock.ts';
import { isLocal, openCluster, type ClusterIds } from './cluster-ids.ts';
import * as store from './store.ts';

export type ClusterStatus = Response<(typeof operations)['getClusterStatus']>;
type ClusterStatuses = Response<(typeof operations)['getOrganizationClusterStatus']>;
type Readiness = Response<(typeof operations)['getClusterReadinessStatus']>;

export async function listClusterStatuses(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  organizationId: string,
): Promise<ClusterStatuses> {
  const rows = await readClusters(deps, caller, organizationId);
  return { results: await Promise.all(rows.map((row) => toStatus(deps, row))) };
}

export async function readClusterStatus(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  ids: ClusterIds,
): Promise<ClusterStatus> {
  return toStatus(deps, await openCluster(deps.database, caller, ids));
}

/** Returns whether services can be deployed on the cluster now. */
export async function readReadiness(deps: Needs<'database' | 'engine'>, caller: Caller, ids: ClusterIds): Promise<Readiness> {
  const row = await openCluster(deps.database, caller, ids);
  return { is_ready: isUsable(await answerOf(deps, row)) };
}

export function readClusters(deps: Needs<'database'>, caller: Caller, organizationId: string): Promise<store.ClusterRow[]> {
  return recordsOf(deps, caller, organizationId, store.clusterList);
}

/**
 * Returns whether Davit has access to the cluster. It has access to this machine's engine and to self-managed clusters
 * with a kubeconfig.
 */
export function isConnected(deps: Needs<'engine'>, row: Pick<store.ClusterRow, 'driver' | 'kubernetes' | 'has_access'>): boolean {
  return isLocal(row) || (row.kubernetes !== 'MANAGED' && row.has_access && deps.engine.connectsClusters);
}

/**
 * Returns the state of a cluster, which is cached for some seconds. Null if the cluster is only recorded, so that there
 * is nothing to contact.
 */
export async function answerOf(deps: Needs<'engine'>, row: store.ClusterRow): Promise<ClusterState | null> {
  return isConnected(deps, row) ? deps.engine.clusterState(row.driver) : null;
}

/** Returns whether services can be deployed on a cluster in this state. */
export function isUsable(state: ClusterState | null): boolean {
  return state !== null && state.facts !== null && state.missingPermissions.length === 0;
}

// Codes that mean that the cluster rejects the credentials, or that no cluster could be reached with them.
const refusals: ReadonlySet<string> = new Set(['CLUSTER_ACCESS_DENIED', 'CLUSTER_ACCESS_INVALID']);

/**
 * Maps the state of a cluster that Davit did not install to a status of the contract:
 * - READY: the cluster is only recorded.
 * - DEPLOYED: the cluster is reachable and grants the permissions that Davit needs.
 * - INVALID_CREDENTIALS: the cluster rejects the credentials, or the kubeconfig is unusable.
 * - DEPLOYING: the cluster is being upgraded. Services can still be deployed.
 * - DEPLOYMENT_ERROR: the upgrade is stuck (services can still be deployed), or the cluster is unreachable. The
 *   contract has no status for an unreachable cluster. Clients take DEPLOYMENT_ERROR for "ended, and needs a person";
 *   STOPPED would mean that somebody stopped the cluster on purpose.
 */
export function stateOf(state: ClusterState | null): ClusterStatus['status'] {
  if (state === null) return 'READY';
  if (refusals.has(state.failure?.code ?? '')) return 'INVALID_CREDENTIALS';
  if (!isUsable(state) || (state.upgrade !== null && state.upgrade.failure !== null)) return 'DEPLOYMENT_ERROR';
  return state.upgrade !== null && state.upgrade.underWay !== null ? 'DEPLOYING' : 'DEPLOYED';
}

/**
 * Returns the status of a cluster. `next_k8s_available_version` is null during an upgrade, and where Davit has no means
 * of upgrading the cluster or no newer version.
 */
export async function toStatus(deps: Needs<'engine'>, row: store.ClusterRow): Promise<ClusterStatus> {
  return statusOf(deps, row, await answerOf(deps, row));
}

export function statusOf(deps: Needs<'engine'>, row: store.ClusterRow, state: ClusterState | null): ClusterStatus {
  const deployedAt = row.deployed_at ?? (isLocal(row) ? row.created_at : null);
  return {
    cluster_id: row.id,
    status: stateOf(state),
    is_deployed: isConnected(deps, row),
    next_k8s_available_version: state?.upgrade?.next ?? null,
    cluster_lock: lockOf(row),
    ...(deployedAt === null ? {} : { last_deployment_date: deployedAt }),
    reason: 'UNSPECIFIED',
  };
}
