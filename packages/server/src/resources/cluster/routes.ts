import { operations } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as cluster from './cluster.ts';

export function mountCluster(mounting: Mounting, deps: Deps): void {
  mounting
    .on(operations.listOrganizationCluster, ({ caller, params }) => cluster.listClusters(deps, caller, params.organizationId))
    .on(operations.getOrganizationClusterStatus, ({ caller, params }) =>
      cluster.listClusterStatuses(deps, caller, params.organizationId),
    )
    .on(operations.getClusterStatus, ({ caller, params }) => cluster.readClusterStatus(deps, caller, params));
}
