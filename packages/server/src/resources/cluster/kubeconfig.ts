import { AppError } from '@davit/base';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { invalid } from '../shared/problems.ts';
import { notDeployed, unsupported } from './deployment.ts';
import { changeCluster, isLocal, openCluster, type ClusterPlace } from './place.ts';
import * as store from './store.ts';

/**
 * The kubeconfig of a cluster that its owner manages, as it was stored. NOT_FOUND where none was; CLUSTER_KIND_UNSUPPORTED for a
 * container engine, CLUSTER_NOT_DEPLOYED for a managed cluster.
 */
export async function readKubeconfig(
  deps: Deps,
  caller: Caller,
  place: ClusterPlace,
  { withTokenFromCli }: { readonly withTokenFromCli: boolean },
): Promise<string> {
  const row = await openCluster(deps.database, caller, place);
  if (withTokenFromCli) {
    throw invalid('with_token_from_cli', 'is not offered: a kubeconfig is answered as it was stored, with its own credentials');
  }
  refuseLocal(row);
  if (row.kubernetes === 'MANAGED') throw notDeployed(row, 'it has no kubeconfig');
  const { kubeconfig_sealed: sealed } = await deps.database.one(store.kubeconfigRead, [row.id]);
  if (sealed !== null) return deps.vault.open(row.id, sealed);
  const why = row.uses_service_account ? 'and needs none: Davit runs on it' : 'yet. Store one by a PUT';
  throw new AppError({ code: 'NOT_FOUND', message: `The cluster ${row.name} has no kubeconfig ${why}.` });
}

/** Stores it, sealed. It is not tried. CLUSTER_LOCKED, CLUSTER_KIND_UNSUPPORTED; VALIDATION_FAILED where it is no kubeconfig. */
export async function editKubeconfig(deps: Deps, caller: Caller, place: ClusterPlace, text: string): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const row = await changeCluster(tx, caller, place);
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

/** By its top level alone, in YAML or in JSON, which is YAML too: whether it works, only its cluster can say. */
export function isKubeconfig(text: string): boolean {
  if (!text.trimStart().startsWith('{')) {
    const hasKind = /^kind[ \t]*:[ \t]*["']?Config["']?[ \t]*(#.*)?\r?$/m.test(text);
    return hasKind && members.every((name) => new RegExp(`^["']?${name}["']?[ \\t]*:`, 'm').test(text));
  }
  try {
    const value: Record<string, unknown> = JSON.parse(text);
    return value['kind'] === 'Config' && members.every((name) => Array.isArray(value[name]));
  } catch {
    // Not JSON, though it begins so: no kubeconfig.
    return false;
  }
}
