import type { Body, operations, Response } from '@davit/contract';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { openEnvironment } from '../environment/index.ts';
import { invalidReference } from '../shared/problems.ts';
import * as store from './store.ts';

type JobsRequest = Body<(typeof operations)['cleanFailedJobs']>;
type JobsAnswer = Response<(typeof operations)['cleanFailedJobs']>;
type JobAnswer = Response<(typeof operations)['cleanFailedJob']>;

/**
 * Cleans the named jobs, or all jobs of the environment. Fails with NOT_FOUND, INVALID_REFERENCE or
 * CLUSTER_UNREACHABLE.
 */
export async function cleanJobs(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
  request: JobsRequest | undefined,
): Promise<JobsAnswer> {
  const { driver } = await openEnvironment(deps.database, caller, environmentId, 'read');
  const all = (await deps.database.many(store.jobsOfEnvironment, [environmentId])).map(({ id }) => id);
  const wanted = request?.job_ids?.map((id) => id.toLowerCase());
  const unknown = wanted?.findIndex((id) => !all.includes(id)) ?? -1;
  if (unknown !== -1) throw invalidReference(`job_ids.${unknown}`, 'is not the id of a job of this environment');
  const serviceIds = [...new Set(wanted ?? all)];
  const cleared = await deps.engine.clearEndedRuns({ driver, serviceIds });
  return {
    clean_job_ids: cleared.map(({ serviceId }) => serviceId),
    clean_kubernetes_jobs: cleared.flatMap(({ instances }) => instances),
  };
}

/** Fails with NOT_FOUND or CLUSTER_UNREACHABLE. */
export async function cleanJob(deps: Needs<'database' | 'engine'>, caller: Caller, jobId: string): Promise<JobAnswer> {
  const ids = await deps.database.maybe(store.readJobCluster, [jobId, caller.organizationId]);
  if (ids === undefined) throw notFound('service');
  const cleared = await deps.engine.clearEndedRuns({ driver: ids.driver, serviceIds: [jobId.toLowerCase()] });
  return { clean_kubernetes_jobs: cleared.flatMap(({ instances }) => instances) };
}
