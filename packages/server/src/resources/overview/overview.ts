import type { operations, Query, Response } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from '../service/index.ts';
import { environmentStatus } from '../deployment/index.ts';
import { readOrganization, recordsOf } from '../organization/index.ts';
import { readProject } from '../project/index.ts';
import { typeWord } from '../shared/engine-views.ts';
import * as store from './store.ts';

type AllEnvironments = Response<(typeof operations)['listEnvironmentsByOrganizationId']>;
type AllServices = Response<(typeof operations)['listServicesByOrganizationId']>;
type ServicesQuery = Query<(typeof operations)['listServicesByOrganizationId']>;
type ProjectCounts = Response<(typeof operations)['getOrganizationProjectStats']>;
type EnvironmentCounts = Response<(typeof operations)['getProjectEnvironmentServiceNumber']>;
type Statuses = Response<(typeof operations)['getProjectEnvironmentsStatus']>;
type Overviews = Response<(typeof operations)['getProjectEnvironmentsOverview']>;

export async function listAllEnvironments(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
): Promise<AllEnvironments> {
  const rows = await recordsOf(deps, caller, organizationId, store.environmentsOfOrganization);
  return {
    results: rows.map(({ organization_id, project_id, ...row }) => ({
      ...row,
      organization: { id: organization_id },
      project: { id: project_id },
    })),
  };
}

/**
 * Lists the services of an organization. A project, environment or cluster of another organization has no services
 * here, so the list is empty.
 */
export async function listAllServices(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  query: ServicesQuery,
): Promise<AllServices> {
  const only = [query.project_id ?? null, query.environment_id ?? null, query.cluster_id ?? null];
  const rows = await deps.database.many(store.servicesOfOrganization, [organizationId, caller.organizationId, ...only]);
  // An empty list does not show whether the organization exists.
  if (rows.length === 0) await readOrganization(deps, caller, organizationId);
  return {
    results: rows.map(({ type, is_cron, ...row }) => ({
      ...row,
      service_type: typeWord(type),
      ...(type === 'JOB' ? { job_type: is_cron ? 'CRON' : 'LIFECYCLE' } : {}),
    })),
  };
}

export async function countByProject(deps: Needs<'database'>, caller: Caller, organizationId: string): Promise<ProjectCounts> {
  return { results: await recordsOf(deps, caller, organizationId, store.projectCounts) };
}

export async function countByEnvironment(deps: Needs<'database'>, caller: Caller, projectId: string): Promise<EnvironmentCounts> {
  const rows = await countedEnvironments(deps, caller, projectId);
  return { results: rows.map(({ id, service_count }) => ({ id, service_total_number: service_count })) };
}

export async function listEnvironmentStatuses(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  projectId: string,
): Promise<Statuses> {
  const rows = await countedEnvironments(deps, caller, projectId);
  const results: Statuses['results'] = [];
  // The environments are read one at a time, because a project with many environments must not use all connections.
  for (const { id } of rows) results.push(await environmentStatus(deps, deps.database, id));
  return { results };
}

export async function listEnvironmentOverviews(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  projectId: string,
): Promise<Overviews> {
  const results: Overviews['results'] = [];
  for (const row of await countedEnvironments(deps, caller, projectId)) {
    results.push(toOverview(row, await environmentStatus(deps, deps.database, row.id)));
  }
  return { results };
}

async function countedEnvironments(
  deps: Needs<'database'>,
  caller: Caller,
  projectId: string,
): Promise<store.CountedEnvironmentRow[]> {
  const rows = await deps.database.many(store.countedEnvironments, [projectId, caller.organizationId]);
  if (rows.length === 0) await readProject(deps, caller, projectId);
  return rows;
}

function toOverview(row: store.CountedEnvironmentRow, status: Statuses['results'][number]): Overviews['results'][number] {
  const { service_count, cluster_id, cluster_name, cluster_is_demo, cluster_cloud_provider, ...environment } = row;
  return {
    ...environment,
    cluster: { id: cluster_id, name: cluster_name, cloud_provider: cluster_cloud_provider, is_demo: cluster_is_demo },
    services_overview: { service_count, managed_by: 'SERVICE' },
    deployment_status: status,
  };
}
