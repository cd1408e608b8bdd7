import type { operations, Response } from '@davit/contract';
import type { EnvironmentView } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { lastDeploymentState, wordsOf } from '../deployment/index.ts';
import { readOrganization } from '../organization/index.ts';
import { serviceOverviews, type ReleaseSettings, type ServiceInOverview } from '../service/index.ts';
import * as store from './store.ts';

type Overview = Response<(typeof operations)['getOrganizationOverview']>;

/**
 * Returns the environments of an organization with their services. The number of queries does not depend on the
 * services.
 */
export async function readOrganizationOverview(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings | 'gatewayHttpsPort'>,
  caller: Caller,
  organizationId: string,
): Promise<Overview> {
  const { database, engine } = deps;
  const rows = await database.many(store.placedEnvironments, [organizationId, caller.organizationId]);
  if (rows.length === 0) {
    await readOrganization(deps, caller, organizationId);
    return { results: [] };
  }
  const ids = rows.map(({ id }) => id);
  const [views, services] = await Promise.all([engine.environments(database, ids), serviceOverviews(deps, database, ids)]);
  return {
    results: rows.flatMap((row, index) => {
      const view = views[index];
      return view === undefined ? [] : [toEnvironment(row, view, services.get(row.id) ?? [])];
    }),
  };
}

function toEnvironment(
  row: store.PlacedEnvironmentRow,
  view: EnvironmentView,
  services: readonly ServiceInOverview[],
): Overview['results'][number] {
  const words = wordsOf(
    services.map(({ isSkipped, record }) => ({
      isSkipped,
      state: record.state,
      deploymentStatus: record.deployment_status,
    })),
  );
  return {
    id: row.id,
    name: row.name,
    mode: row.mode,
    project: { id: row.project_id, name: row.project_name },
    cluster: { id: row.cluster_id, name: row.cluster_name },
    state: words.state ?? lastDeploymentState(view),
    deployment_status: words.deploymentStatus,
    last_deployment: toLast(view.last),
    deployment_request_id: view.waitingRequestId,
    services: services.map(({ record }) => record),
  };
}

function toLast(last: EnvironmentView['last']): Overview['results'][number]['last_deployment'] {
  if (last === null) return null;
  const { executionId, state, running, at, triggeredBy, origin } = last;
  return { execution_id: executionId, state, running, at, triggered_by: triggeredBy, origin };
}
