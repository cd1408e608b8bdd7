import { clusterAdvancedSettingsNotOffered, type Body, type operations, type Response } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { Problems } from '../shared/problems.ts';
import { unsupported } from './deployment.ts';
import { changeCluster, openCluster, type ClusterIds } from './cluster-ids.ts';
import { isCidr } from './request.ts';
import * as store from './store.ts';

type Settings = Response<(typeof operations)['getClusterAdvancedSettings']>;
type Routes = Response<(typeof operations)['getRoutingTable']>;
type RoutesRequest = Body<(typeof operations)['editRoutingTable']>;

export async function readDefaultSettings(): Promise<Settings> {
  return {};
}

export async function readSettings(deps: Needs<'database'>, caller: Caller, ids: ClusterIds): Promise<Settings> {
  await openCluster(deps.database, caller, ids);
  return {};
}

/**
 * Fails with VALIDATION_FAILED for each setting that Davit knows but does not offer. Null values and unknown settings
 * are ignored. Fails with CLUSTER_LOCKED.
 */
export async function editSettings(
  deps: Needs<'database'>,
  caller: Caller,
  ids: ClusterIds,
  request: Settings,
): Promise<Settings> {
  await deps.database.transaction(async (tx) => changeCluster(tx, caller, ids));
  const problems = new Problems();
  const values = new Map<string, unknown>(Object.entries(request));
  for (const name of clusterAdvancedSettingsNotOffered) {
    if ((values.get(name) ?? null) !== null)
      problems.add(name, 'is not offered: this version of Davit installs nothing that it would apply to');
  }
  problems.throwIfAny();
  return {};
}

export async function readRoutes(deps: Needs<'database'>, caller: Caller, ids: ClusterIds): Promise<Routes> {
  const { id } = await openCluster(deps.database, caller, ids);
  return { results: (await deps.database.one(store.routesRead, [id])).routes };
}

/**
 * Sets the routes, which a deployment of the cluster applies. Fails with VALIDATION_FAILED, CLUSTER_LOCKED or
 * CLUSTER_KIND_UNSUPPORTED.
 */
export async function editRoutes(
  deps: Needs<'database'>,
  caller: Caller,
  ids: ClusterIds,
  request: RoutesRequest,
): Promise<Routes> {
  const problems = new Problems();
  const destinations = request.routes.map(({ destination }) => destination);
  for (const [index, destination] of destinations.entries()) {
    const path = `routes.${index}.destination`;
    if (!isCidr(destination)) problems.add(path, 'must be a block of addresses, as in 10.1.0.0/16');
    else if (destinations.indexOf(destination) < index) problems.add(path, 'has a route already');
  }
  return deps.database.transaction(async (tx) => {
    const row = await changeCluster(tx, caller, ids);
    if (row.kubernetes !== 'MANAGED') {
      throw unsupported(
        `The cluster ${row.name} is not managed: Davit manages no routes of its network. Set them where its machines are.`,
      );
    }
    problems.throwIfAny();
    const routes = request.routes.map(({ destination, target, description }) => ({ destination, target, description }));
    return { results: (await tx.one(store.routesWrite, [row.id, JSON.stringify(routes)])).routes };
  });
}
