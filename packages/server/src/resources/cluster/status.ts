import type { operations, Response } from '@davit/contract';
import type { ClusterState } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { readOrganization } from '../organization/index.ts';
import { lockOf } from './lock.ts';
import { isLocal, openCluster, type ClusterPlace } from './place.ts';
import * as store from './store.ts';

export type ClusterStatus = Response<(typeof operations)['getClusterStatus']>;
type ClusterStatuses = Response<(typeof operations)['getOrganizationClusterStatus']>;
type Readiness = Response<(typeof operations)['getClusterReadinessStatus']>;

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
  return { is_ready: isUsable(await answerOf(deps, row)) };
}

export async function readClusters(deps: Deps, caller: Caller, organizationId: string): Promise<store.ClusterRow[]> {
  const rows = await deps.database.many(store.clusterList, [organizationId, caller.organizationId]);
  if (rows.length === 0) await readOrganization(deps, caller, organizationId);
  return rows;
}

/** Whether Davit can reach it at all: this machine's engine, and clusters of others with a kubeconfig. */
export function isConnected(
  deps: Pick<Deps, 'engine'>,
  row: Pick<store.ClusterRow, 'driver' | 'kubernetes' | 'has_access'>,
): boolean {
  return isLocal(row) || (row.kubernetes !== 'MANAGED' && row.has_access && deps.engine.connectsClusters);
}

/** What a cluster answers, as it is remembered for some seconds; null: it is only recorded, and there is nothing to ask. */
export async function answerOf(deps: Deps, row: store.ClusterRow): Promise<ClusterState | null> {
  return isConnected(deps, row) ? deps.engine.clusterState(row.driver) : null;
}

/** Whether services can be deployed there. */
export function isUsable(state: ClusterState | null): boolean {
  return state !== null && state.facts !== null && state.missingPermissions.length === 0;
}

// It refuses them, or no cluster could be reached with them at all.
const refusals: ReadonlySet<string> = new Set(['CLUSTER_ACCESS_DENIED', 'CLUSTER_ACCESS_INVALID']);

/**
 * A cluster that Davit did not install is DEPLOYED when it answers and lets Davit do what it needs to. INVALID_CREDENTIALS: it refuses
 * them, or they are no kubeconfig to work with. The contract has no word for one that does not answer; of its words, DEPLOYMENT_ERROR is the one that clients take for "ended,
 * and needs a person", where STOPPED would say that somebody wanted it so. What is only recorded is READY. While it is upgraded it is DEPLOYING,
 * and DEPLOYMENT_ERROR when that does not go on; services are deployed on it all the same.
 */
export function stateOf(state: ClusterState | null): ClusterStatus['status'] {
  if (state === null) return 'READY';
  if (refusals.has(state.failure?.code ?? '')) return 'INVALID_CREDENTIALS';
  if (!isUsable(state) || (state.upgrade !== null && state.upgrade.failure !== null)) return 'DEPLOYMENT_ERROR';
  return state.upgrade !== null && state.upgrade.underWay !== null ? 'DEPLOYING' : 'DEPLOYED';
}

/** `next_k8s_available_version` is null where Davit has nothing to upgrade it with or to, and while it is upgraded. */
export async function toStatus(deps: Deps, row: store.ClusterRow): Promise<ClusterStatus> {
  return statusOf(deps, row, await answerOf(deps, row));
}

export function statusOf(deps: Deps, row: store.ClusterRow, state: ClusterState | null): ClusterStatus {
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
