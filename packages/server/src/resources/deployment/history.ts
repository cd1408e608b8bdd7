import type { operations, Response } from '@davit/contract';
import type * as engine from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { openEnvironment } from '../environment/index.ts';
import { toCommit } from '../shared/history-details.ts';

/*
 * The deployment histories of the old API. They continue after the id of a deployment and have no pages, so that new
 * deployments do not shift the entries.
 */

type EnvironmentHistory = Response<(typeof operations)['listEnvironmentDeploymentHistory']>;
type EnvironmentEntry = EnvironmentHistory['results'][number];
type ServiceEntry = NonNullable<EnvironmentEntry['applications']>[number];

const pageSize = 20;

export async function listOldEnvironmentHistory(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
  startId: string | undefined,
): Promise<EnvironmentHistory> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  const views = await deps.engine.environmentHistory(deps.database, environmentId, { page: 1, pageSize, before: startId });
  return { page: 1, page_size: pageSize, results: views.map(toEnvironmentEntry) };
}

function toEnvironmentEntry(view: engine.DeploymentView): EnvironmentEntry {
  const ofType = (type: string): ServiceEntry[] =>
    view.services
      .filter(({ serviceType }) => serviceType === type)
      .map((service) => ({ ...toCommon(service, service.serviceId), status: service.state }));
  return {
    id: view.deploymentId,
    created_at: view.createdAt,
    updated_at: view.updatedAt,
    status: view.state,
    origin: view.origin,
    triggered_by: view.triggeredBy,
    applications: ofType('APPLICATION'),
    containers: ofType('CONTAINER'),
    databases: ofType('DATABASE'),
    jobs: ofType('JOB'),
    helms: ofType('HELM'),
    terraforms: ofType('TERRAFORM'),
  };
}

function toCommon(view: engine.HistoryServiceView, id: string): Omit<ServiceEntry, 'status'> {
  return {
    id,
    created_at: view.createdAt,
    updated_at: view.updatedAt,
    name: view.name,
    commit: toCommit(view.commit, view.createdAt),
  };
}
