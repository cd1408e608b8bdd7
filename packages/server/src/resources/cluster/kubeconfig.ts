import { AppError } from '@davit/base';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { invalid } from '../shared/problems.ts';
import { notDeployed, unsupported } from './deployment.ts';
import { changeCluster, isLocal, openCluster, type ClusterIds } from './cluster-ids.ts';
import * as store from './store.ts';

/**
 * Returns the kubeconfig of a self-managed cluster, as it was stored. Fails with NOT_FOUND if none was stored,
 * CLUSTER_KIND_UNSUPPORTED for a container engine, or CLUSTER_NOT_DEPLOYED for a managed cluster.
 */
export async function readKubeconfig(
  deps: Needs<'database' | 'vault'>,
  caller: Caller,
  ids: ClusterIds,
  { withTokenFromCli }: { readonly withTokenFromCli: boolean },
): Promise<string> {
  const row = await openCluster(deps.database, caller, ids);
  if (withTokenFromCli) {
    throw invalid('with_token_from_cli', 'is not offered: a kubeconfig is returned as it was stored, with its own credentials');
  }
  refuseLocal(row);
  if (row.kubernetes === 'MANAGED') throw notDeployed(row, 'it has no kubeconfig');
  const { kubeconfig_sealed: sealed } = await deps.database.one(store.kubeconfigRead, [row.id]);
  if (sealed !== null) return deps.vault.open(row.id, sealed);
  const why = row.uses_service_account ? 'and needs none: Davit runs on it' : 'yet. Store one with a PUT';
  throw new AppError({ code: 'NOT_FOUND', message: `The cluster ${row.name} has no kubeconfig ${why}.` });
}

/**
 * Stores a kubeconfig, sealed. The kubeconfig is not tried. Fails with CLUSTER_LOCKED, CLUSTER_KIND_UNSUPPORTED, or
 * VALIDATION_FAILED if the text is not a kubeconfig.
 */
export async function editKubeconfig(
  deps: Needs<'database' | 'vault'>,
  caller: Caller,
  ids: ClusterIds,
  text: string,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const row = await changeCluster(tx, caller, ids);
    refuseLocal(row);
    if (row.kubernetes === 'MANAGED') {
      throw unsupported(`The cluster ${row.name} is managed: its kubeconfig comes from its vendor when it is deployed.`);
    }
    if (row.uses_service_account) {
      throw unsupported(
        `The cluster ${row.name} is the one that Davit itself runs on, and its operator lets Davit work there with its own service account: a kubeconfig would not be used.`,
      );
    }
    if (!isKubeconfig(text)) {
      throw invalid('', 'must be a kubeconfig: YAML with `kind: Config`, and with clusters, contexts and users');
    }
    await tx.run(store.kubeconfigWrite, [row.id, deps.vault.seal(row.id, text)]);
  });
}

function refuseLocal(row: store.ClusterRow): void {
  if (!isLocal(row)) return;
  throw unsupported(`The cluster ${row.name} is the container engine of this machine, not Kubernetes: it has no kubeconfig.`);
}

const members = ['clusters', 'contexts', 'users'] as const;

/**
 * Checks only the top level, in YAML or in JSON (which is YAML too). Whether the kubeconfig works is known only to its
 * cluster.
 */
export function isKubeconfig(text: string): boolean {
  if (!text.trimStart().startsWith('{')) {
    const hasKind = /^kind[ \t]*:[ \t]*["']?Config["']?[ \t]*(#.*)?\r?$/m.test(text);
    return hasKind && members.every((name) => new RegExp(`^["']?${name}["']?[ \\t]*:`, 'm').test(text));
  }
  try {
    const value: Record<string, unknown> = JSON.parse(text);
    return value['kind'] === 'Config' && members.every((name) => Array.isArray(value[name]));
  } catch {
    // The text begins like JSON but is not JSON, so it is no kubeconfig.
    return false;
  }
}
