import type { operations, Response } from '@davit/contract';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { readOrganization } from '../organization/index.ts';
import { describeCluster } from './description.ts';
import * as store from './store.ts';

type Clusters = Response<(typeof operations)['listOrganizationCluster']>;
type ClusterStatus = Response<(typeof operations)['getClusterStatus']>;
type ClusterStatuses = Response<(typeof operations)['getOrganizationClusterStatus']>;

export async function listClusters(deps: Deps, caller: Caller, organizationId: string): Promise<Clusters> {
  const rows = await readClusters(deps, caller, organizationId);
  return { results: await Promise.all(rows.map((row) => toCluster(deps, row))) };
}

export async function listClusterStatuses(deps: Deps, caller: Caller, organizationId: string): Promise<ClusterStatuses> {
  const rows = await readClusters(deps, caller, organizationId);
  return { results: await Promise.all(rows.map((row) => toStatus(deps, row))) };
}

export async function readClusterStatus(
  deps: Deps,
  caller: Caller,
  place: { readonly organizationId: string; readonly clusterId: string },
): Promise<ClusterStatus> {
  const row = await deps.database.maybe(store.clusterRead, [place.organizationId, caller.organizationId, place.clusterId]);
  if (row === undefined) throw notFound('cluster');
  return toStatus(deps, row);
}

async function readClusters(deps: Deps, caller: Caller, organizationId: string): Promise<store.ClusterRow[]> {
  const rows = await deps.database.many(store.clusterList, [organizationId, caller.organizationId]);
  if (rows.length === 0) await readOrganization(deps, caller, organizationId);
  return rows;
}

/**
 * A local engine is found, not installed: it is DEPLOYED when it answers. The contract has no word for one that does not; of
 * its words, DEPLOYMENT_ERROR is the one that clients take for "ended, and needs a person", where STOPPED would say that
 * somebody wanted it so.
 */
function stateOf(isAnswering: boolean): ClusterStatus['status'] {
  return isAnswering ? 'DEPLOYED' : 'DEPLOYMENT_ERROR';
}

async function toStatus(deps: Deps, row: store.ClusterRow): Promise<ClusterStatus> {
  const description = await describeCluster(deps.engine, row.driver);
  return {
    cluster_id: row.id,
    status: stateOf(description !== null),
    is_deployed: true,
    next_k8s_available_version: null,
    last_deployment_date: row.created_at,
    reason: 'UNSPECIFIED',
  };
}

async function toCluster(deps: Deps, row: store.ClusterRow): Promise<Clusters['results'][number]> {
  const description = await describeCluster(deps.engine, row.driver);
  const { organization_id, driver: _driver, ...fields } = row;
  return {
    ...fields,
    organization: { id: organization_id },
    kubernetes: 'SELF_MANAGED',
    status: stateOf(description !== null),
    has_access: true,
    deployment_status: 'UP_TO_DATE',
    ...(description === null
      ? {}
      : {
          version: `${description.engine} ${description.version}`,
          cpu: description.cpuMillicores,
          memory: description.memoryMiB,
        }),
  };
}
