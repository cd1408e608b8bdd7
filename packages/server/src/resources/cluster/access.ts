import { Sensitive } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { ClusterAccess } from '@davit/engine/port';
import type { Vault } from '../../secrets/vault.ts';
import { clusterAccess } from './store.ts';

/**
 * What the clusters of all organizations are reached with. A kubeconfig that the key of this server does not open is an empty one:
 * that cluster refuses it, and the others are worked with.
 */
export async function readClusterAccess(database: Queryable, vault: Vault): Promise<readonly ClusterAccess[]> {
  const rows = await database.many(clusterAccess);
  return rows.map(({ id, name, version, kubeconfig_sealed: sealed }) => ({
    id,
    name,
    version,
    kubeconfig: new Sensitive(opened(vault, id, sealed)),
  }));
}

function opened(vault: Vault, id: string, sealed: Buffer): string {
  try {
    return vault.open(id, sealed);
  } catch {
    return '';
  }
}
