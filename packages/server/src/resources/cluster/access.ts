import { Sensitive } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { ClusterAccess } from '@davit/engine/port';
import type { Vault } from '../../secrets/vault.ts';
import { clustersOfServiceAccount, type ClusterSettingsTable } from '../../cluster-settings.ts';
import { clusterAccess, identityClaim, identityHolder, serviceAccountsWrite } from './store.ts';

/**
 * Returns how to access the clusters of all organizations. If this server's key cannot decrypt a kubeconfig, the
 * kubeconfig returned is empty: that cluster rejects it, and the others stay usable. The kubeconfig is also empty where
 * the operator's settings say `in_cluster`. The code that connects follows these settings and never the stored
 * kubeconfig.
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
 * Stores on which clusters Davit uses the service account of its own pods, according to the operator's settings. Runs
 * at each start. Returns the ids of the clusters for which this has changed.
 */
export async function noteServiceAccounts(database: Queryable, settings: ClusterSettingsTable): Promise<string[]> {
  const rows = await database.many(serviceAccountsWrite, [clustersOfServiceAccount(settings)]);
  return rows.map(({ id }) => id);
}

/**
 * Claims the cluster with this identity for a record. Returns null on success; otherwise it returns which cluster
 * already has the identity. A cluster of another organization is not named.
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
