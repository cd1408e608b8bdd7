import { AppError } from '@davit/base';
import type { Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import * as store from './store.ts';

/** A cluster by its path. */
export interface ClusterPlace {
  readonly organizationId: string;
  readonly clusterId: string;
}

/** This machine's container engine, which every organization has from its beginning; all others are Kubernetes. */
export function isLocal({ driver }: { readonly driver: string }): boolean {
  return driver === 'docker';
}

/** Finds a cluster that the caller may see. NOT_FOUND. */
export async function openCluster(db: Queryable, caller: Caller, place: ClusterPlace): Promise<store.ClusterRow> {
  const row = await db.maybe(store.clusterRead, [place.organizationId, caller.organizationId, place.clusterId]);
  if (row === undefined) throw notFound('cluster');
  return row;
}

/** The same for a path that names no organization. */
export async function findCluster(db: Queryable, caller: Caller, clusterId: string): Promise<ClusterPlace> {
  const row = await db.maybe(store.clusterOrganization, [clusterId, caller.organizationId]);
  if (row === undefined) throw notFound('cluster');
  return { organizationId: row.organization_id, clusterId };
}

/** Holds a cluster until the end of the transaction. NOT_FOUND. */
export async function holdCluster(tx: Queryable, caller: Caller, place: ClusterPlace): Promise<store.ClusterRow> {
  const held = await tx.maybe(store.clusterHold, [place.organizationId, caller.organizationId, place.clusterId]);
  if (held === undefined) throw notFound('cluster');
  // In a statement of its own: the first one waited, and what it saw of locks may be from before.
  return openCluster(tx, caller, place);
}

/** The same for a change or a deployment of the cluster. NOT_FOUND; CLUSTER_LOCKED. */
export async function changeCluster(tx: Queryable, caller: Caller, place: ClusterPlace): Promise<store.ClusterRow> {
  const row = await holdCluster(tx, caller, place);
  refuseLocked(row);
  return row;
}

/** CLUSTER_LOCKED, where it is. */
export function refuseLocked(row: store.ClusterRow): void {
  if (row.locked_at === null) return;
  const until = row.lock_expires_at === null ? 'until it is unlocked' : `until ${row.lock_expires_at}`;
  throw new AppError({
    code: 'CLUSTER_LOCKED',
    message: `The cluster ${row.name} is locked by ${row.lock_owner_name ?? ''} ${until}: ${row.lock_reason ?? ''}. Unlock it first, or wait.`,
  });
}
