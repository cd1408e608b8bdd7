import type { Body, operations, Response } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { readOrganization } from '../organization/index.ts';
import { findCluster, holdCluster, refuseLocked } from './cluster-ids.ts';
import * as store from './store.ts';

type ClusterLock = Response<(typeof operations)['lockCluster']>;
type LockRequest = Body<(typeof operations)['lockCluster']>;
type ClusterLocks = Response<(typeof operations)['listClusterLock']>;

/**
 * Locks a cluster against changes and against deployments of the cluster itself, until it is unlocked or `ttl_in_days`
 * days have passed. Services are still deployed on it. Fails with CLUSTER_LOCKED if the cluster is already locked,
 * because a second reason would hide the first one.
 */
export async function lockCluster(
  deps: Needs<'database'>,
  caller: Caller,
  clusterId: string,
  request: LockRequest,
): Promise<ClusterLock> {
  const ids = await findCluster(deps.database, caller, clusterId);
  return deps.database.transaction(async (tx) => {
    refuseLocked(await holdCluster(tx, caller, ids));
    const values = [clusterId, request.reason, request.ttl_in_days ?? null, caller.name];
    return toLock(await tx.one(store.lockTake, values));
  });
}

/** Unlocks a cluster. Every caller who may lock a cluster may unlock it. Idempotent. */
export async function unlockCluster(deps: Needs<'database'>, caller: Caller, clusterId: string): Promise<void> {
  const ids = await findCluster(deps.database, caller, clusterId);
  await deps.database.transaction(async (tx) => {
    await holdCluster(tx, caller, ids);
    await tx.run(store.lockRelease, [clusterId]);
  });
}

export async function listClusterLocks(deps: Needs<'database'>, caller: Caller, organizationId: string): Promise<ClusterLocks> {
  await readOrganization(deps, caller, organizationId);
  const rows = await deps.database.many(store.lockList, [organizationId, caller.organizationId]);
  return { results: rows.map(toLock) };
}

function toLock({ ttl_in_days, ...row }: store.LockRow): ClusterLock {
  return { ...row, ...(ttl_in_days === null ? {} : { ttl_in_days }) };
}

/** Returns the lock of a cluster in the form that its status has. Null if the cluster is not locked. */
export function lockOf(row: store.ClusterRow): ClusterLock | null {
  if (row.locked_at === null || row.lock_reason === null || row.lock_owner_name === null) return null;
  return toLock({
    cluster_id: row.id,
    reason: row.lock_reason,
    ttl_in_days: row.lock_ttl_in_days,
    owner_name: row.lock_owner_name,
    locked_at: row.locked_at,
  });
}
