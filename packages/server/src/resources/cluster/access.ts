import { Sensitive } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { ClusterAccess } from '@davit/engine/port';
import type { Vault } from '../../secrets/vault.ts';
import { clustersOfServiceAccount, type ClusterSettingsTable } from '../../cluster-settings.ts';
import { clusterAccess, identityClaim, identityHolder, serviceAccountsWrite } from './store.ts';

/**
 * What the clusters of all organizations are reached with. A kubeconfig that the key of this server does not open is an empty one:
 * that cluster refuses it, and the others are worked with. It is empty, too, where the operator's settings say `in_cluster`; whoever
 * connects goes by these settings, and never by what is stored.
 */
export async function readClusterAccess(database: Queryable, vault: Vault): Promise<readonly ClusterAccess[]> {
  const rows = await database.many(clusterAccess);
  return rows.map(({ id, name, version, kubeconfig_sealed: sealed }) => ({
    id,
    name,
    version,
    kubeconfig: new Sensitive(sealed === null ? '' : opened(vault, id, sealed)),
  }));
}

/**
 * Notes on which clusters Davit works with the service account of its own pods, as the operator's settings have it: at each start. Gives
 * the ids of those that it does from now on, or no longer does.
 */
export async function noteServiceAccounts(database: Queryable, settings: ClusterSettingsTable): Promise<string[]> {
  const rows = await database.many(serviceAccountsWrite, [clustersOfServiceAccount(settings)]);
  return rows.map(({ id }) => id);
}

/**
 * Has a record be the one of the cluster with this identity. Null: it is; else which one is: of another organization no name is told.
 */
export async function claimCluster(database: Queryable, clusterId: string, identity: string): Promise<string | null> {
  await database.run(identityClaim, [clusterId, identity]);
  const holder = await database.maybe(identityHolder, [clusterId, identity]);
  if (holder === undefined || holder.id === clusterId) return null;
  return holder.is_neighbour ? `the cluster ${holder.name}` : 'a cluster of another organization';
}

function opened(vault: Vault, id: string, sealed: Buffer): string {
  try {
    return vault.open(id, sealed);
  } catch {
    return '';
  }
}
