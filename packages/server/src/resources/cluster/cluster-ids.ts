import { AppError } from '@davit/base';
import type { Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import { isLocalDriver } from '../../local-driver.ts';
import * as store from './store.ts';

/** The ids in the path of a cluster. */
export interface ClusterIds {
  readonly organizationId: string;
  readonly clusterId: string;
}

/**
 * Returns whether the cluster is this machine's container engine. Every organization has that cluster from its
 * beginning; all others are Kubernetes.
 */
export function isLocal({ driver }: { readonly driver: string }): boolean {
  return isLocalDriver(driver);
}

/** Returns a cluster that the caller may see. Fails with NOT_FOUND. */
export async function openCluster(db: Queryable, caller: Caller, ids: ClusterIds): Promise<store.ClusterRow> {
  const row = await db.maybe(store.clusterRead, [ids.organizationId, caller.organizationId, ids.clusterId]);
  if (row === undefined) throw notFound('cluster');
  return row;
}

/** Finds a cluster for a path that names no organization. Fails with NOT_FOUND. */
export async function findCluster(db: Queryable, caller: Caller, clusterId: string): Promise<ClusterIds> {
  const row = await db.maybe(store.clusterOrganization, [clusterId, caller.organizationId]);
  if (row === undefined) throw notFound('cluster');
  return { organizationId: row.organization_id, clusterId };
}

/** Locks the row of a cluster until the transaction ends, and returns the row. Fails with NOT_FOUND. */
export async function holdCluster(tx: Queryable, caller: Caller, ids: ClusterIds): Promise<store.ClusterRow> {
  const held = await tx.maybe(store.clusterHold, [ids.organizationId, caller.organizationId, ids.clusterId]);
  if (held === undefined) throw notFound('cluster');
  // This needs a second statement. The first one waited for the row, and its view of `lock_reason` may predate that
  // wait.
  return openCluster(tx, caller, ids);
}

/**
 * Locks the row of a cluster like `holdCluster`, for a change or a deployment of the cluster. Fails with NOT_FOUND, or
 * CLUSTER_LOCKED.
 */
export async function changeCluster(tx: Queryable, caller: Caller, ids: ClusterIds): Promise<store.ClusterRow> {
  const row = await holdCluster(tx, caller, ids);
  refuseLocked(row);
  return row;
}

/** Fails with CLUSTER_LOCKED if the cluster is locked. */
export function refuseLocked(row: store.ClusterRow): void {
  if (row.locked_at === null) return;
  const until = row.lock_expires_at === null ? 'until it is unlocked' : `until ${row.lock_expires_at}`;
  throw new AppError({
    code: 'CLUSTER_LOCKED',
    message: `The cluster ${row.name} is locked by ${row.lock_owner_name ?? ''} ${until}: ${row.lock_reason ?? ''}. Unlock it first, or wait.`,
  });
}
