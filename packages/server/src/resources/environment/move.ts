import { AppError } from '@davit/base';
import { isUniqueViolation, type Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import { checkEnvironment } from '../../auth/custom-role.ts';
import { checkDeployed } from '../cluster/index.ts';
import { invalidReference } from '../shared/problems.ts';
import * as store from './store.ts';

export interface Move {
  readonly environmentId: string;
  readonly projectId: string;
  readonly organizationId: string;
  readonly clusterId: string;
}

/**
 * Moves an environment to another cluster. The move takes effect with the next deployment; until then the running
 * services stay where they are. Fails with INVALID_REFERENCE, CLUSTER_NOT_DEPLOYED if nothing can be deployed on the
 * cluster, or IN_USE if a host port of one of its services is taken on the cluster.
 */
export async function moveEnvironment(tx: Queryable, caller: Caller, move: Move): Promise<void> {
  const cluster = await tx.maybe(store.clusterToMoveTo, [move.organizationId, move.clusterId, move.environmentId]);
  if (cluster === undefined) throw invalidReference('cluster_id', 'is not the id of a cluster of this organization');
  if (cluster.is_there) return;
  checkEnvironment(caller, { projectId: move.projectId, mode: cluster.mode, onNewCluster: move.clusterId });
  checkDeployed(cluster);
  await tx.run(store.environmentMove, [move.environmentId, move.clusterId]);
  await tx.run(store.servicesMove, [move.environmentId, cluster.driver]);
  try {
    await tx.run(store.hostPortsMove, [move.environmentId, cluster.driver]);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const message = `is the cluster ${cluster.name}, where another service has a public port of one of these services; choose other ports first`;
    throw new AppError({ code: 'IN_USE', message: `cluster_id ${message}`, errors: [{ path: 'cluster_id', message }] });
  }
}
