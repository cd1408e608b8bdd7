import { operations, type Body, type Query, type Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Action, DeploymentRequest, RequestedService } from '@davit/engine/port';
import { callerAt, notFound } from '../../auth/authorize.ts';
import { canSee, type Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { markDeleting, openEnvironment, removeEnvironment, type OpenEnvironment } from '../environment/index.ts';
import { composeServices, environmentLinks, listServices } from '../service/index.ts';
import { toPlan } from '../shared/engine-views.ts';
import { triggerOf } from '../shared/trigger.ts';
import { checkServiceVisible, environmentStatus, type EnvironmentStatus } from './status.ts';
import * as store from './store.ts';
import { toEnvironmentHistory, toEnvironmentLog, toEnvironmentQueueEntry, toServiceQueueEntries } from './views.ts';

type DeployAnswer = Response<(typeof operations)['deployEnvironment']>;
type Answer = Response<(typeof operations)['redeployEnvironment']>;
type CancelRequest = Body<(typeof operations)['cancelEnvironmentDeployment']>;
type EnvironmentQueue = Response<(typeof operations)['listDeploymentRequestByEnvironmentId']>;
type ServiceQueue = Response<(typeof operations)['listDeploymentRequestByServiceId']>;
type History = Response<(typeof operations)['listEnvironmentDeploymentHistoryV2']>;
type HistoryQuery = Query<(typeof operations)['listEnvironmentDeploymentHistoryV2']>;
type Logs = Response<(typeof operations)['listEnvironmentLogs']>;
type RequestStatus = Response<(typeof operations)['getDeploymentStatusByDeploymentRequestId']>;
type Links = Response<(typeof operations)['listEnvironmentServicesLinks']>;
type Services = Response<(typeof operations)['listServicesByEnvironmentId']>;

const defaultPageSize = 20;

/** What is done to all services of an environment that are not skipped. */
export interface Wanted {
  readonly environmentId: string;
  readonly what: 'deploy' | 'redeploy' | 'stop';
  readonly dryRun: boolean;
}

/** Deploys, redeploys or stops an environment, or answers the plan of it. */
export async function actOnEnvironment(deps: Deps, caller: Caller, wanted: Wanted): Promise<Answer> {
  const { environmentId, what, dryRun } = wanted;
  const { status, request } = await deps.database.transaction(async (tx) => {
    const place = await openEnvironment(tx, caller, environmentId, what === 'stop' ? 'change' : 'deploy');
    const services =
      what === 'stop'
        ? await requestedServices(tx, environmentId, { skipped: false })
        : await composeServices(deps, tx, environmentId, { redeploy: what === 'redeploy' });
    const request = wholeEnvironment(place, caller, what === 'stop' ? 'STOP' : 'DEPLOY', services);
    if (!dryRun) await deps.engine.request(tx, request);
    return { status: await environmentStatus(deps, tx, environmentId), request };
  });
  return dryRun ? { ...status, plan: toPlan(await deps.engine.plan(request)) } : status;
}

/**
 * Asks for a deployment of an environment in a transaction of the caller: of the services in `commits` at these, of all others at the
 * newest ones, or with `redeploy` at those that are deployed. Answers the id of the request.
 */
export async function requestEnvironment(
  deps: Deps,
  tx: Queryable,
  caller: Caller,
  { environmentId, redeploy, commits }: WantedCommits,
): Promise<string> {
  const place = await openEnvironment(tx, caller, environmentId, 'deploy');
  const services = (await composeServices(deps, tx, environmentId, { redeploy })).map((service): RequestedService => {
    const commitId = commits.get(service.serviceId);
    const { release } = service;
    if (commitId === undefined || release === undefined || !('config' in release)) return service;
    return { ...service, release: { ...release, commitId } };
  });
  return (await deps.engine.request(tx, wholeEnvironment(place, caller, 'DEPLOY', services))).deploymentId;
}

interface WantedCommits {
  readonly environmentId: string;
  readonly redeploy: boolean;
  /** By service. */
  readonly commits: ReadonlyMap<string, string>;
}

/** The same for deploy, with the fields of a service's status beside, which the public description has here. */
export async function deployEnvironment(deps: Deps, caller: Caller, wanted: Wanted): Promise<DeployAnswer> {
  return withServiceFields(await actOnEnvironment(deps, caller, wanted), 'DEPLOY', wanted.dryRun);
}

/** An environment's status with what the public description has of a service's. */
export function withServiceFields(answer: Answer, action: 'DEPLOY' | 'RESTART', dryRun: boolean): DeployAnswer {
  return {
    ...answer,
    service_deployment_status: answer.deployment_status ?? 'NEVER_DEPLOYED',
    is_part_last_deployment: true,
    status_details: { action, status: dryRun ? 'NEVER' : 'QUEUED', sub_action: 'NONE' },
    deployment_requests_count: answer.deployment_request_id === null ? 0 : 1,
  };
}

/** A request for an environment as a whole. */
export function wholeEnvironment(
  place: OpenEnvironment,
  caller: Caller,
  action: Action,
  services: readonly RequestedService[],
): DeploymentRequest {
  return { place, action, wholeEnvironment: true, trigger: triggerOf(caller), services };
}

/** The services of an environment, for an action that needs no release of them. */
export async function requestedServices(
  tx: Queryable,
  environmentId: string,
  { skipped }: { readonly skipped: boolean },
): Promise<RequestedService[]> {
  const rows = await tx.many(store.placedServices, [environmentId]);
  return rows
    .filter((row) => skipped || !row.is_skipped)
    .map((row) => ({
      serviceId: row.id,
      serviceType: row.type,
      name: row.name,
      iconUri: row.icon_uri,
      stage: { id: row.stage_id, name: row.stage_name, position: row.stage_position },
    }));
}

/**
 * Deletes an environment. One in which nothing was ever deployed is gone at once; else the engine takes everything off its
 * cluster first, skipped services included, and the record stays visible until then. Asking again while that is under way
 * changes nothing; asking again after it failed tries again.
 */
export async function deleteEnvironment(deps: Deps, caller: Caller, environmentId: string): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const place = await openEnvironment(tx, caller, environmentId, 'delete');
    if (place.deleting) return;
    const view = await deps.engine.environment(tx, environmentId);
    if (view.last === null && view.waitingRequestId === null) {
      await removeEnvironment(tx, environmentId);
      return;
    }
    await markDeleting(tx, environmentId);
    const services = await requestedServices(tx, environmentId, { skipped: true });
    await deps.engine.request(tx, wholeEnvironment(place, caller, 'DELETE', services));
  });
}

/** Takes all services off their cluster, skipped ones included; asks for nothing where there is nothing. The records stay. */
export async function uninstallEnvironment(deps: Deps, caller: Caller, environmentId: string): Promise<Record<string, never>> {
  await deps.database.transaction(async (tx) => {
    const place = await openEnvironment(tx, caller, environmentId, 'change');
    const services: RequestedService[] = [];
    for (const service of await requestedServices(tx, environmentId, { skipped: true })) {
      if (await deps.engine.isKnown(tx, service.serviceId)) services.push(service);
    }
    if (services.length > 0) await deps.engine.request(tx, wholeEnvironment(place, caller, 'UNINSTALL', services));
  });
  return {};
}

export async function cancelDeployment(
  deps: Deps,
  caller: Caller,
  environmentId: string,
  request: CancelRequest,
): Promise<EnvironmentStatus> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  await deps.engine.cancel(environmentId, request?.force_cancel ?? false);
  return environmentStatus(deps, deps.database, environmentId);
}

export async function listEnvironmentQueue(deps: Deps, caller: Caller, environmentId: string): Promise<EnvironmentQueue> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  const views = await deps.engine.queueOfEnvironment(deps.database, environmentId);
  return { results: views.map(toEnvironmentQueueEntry) };
}

export async function listServiceQueue(deps: Deps, caller: Caller, serviceId: string): Promise<ServiceQueue> {
  await checkServiceVisible(deps, caller, serviceId);
  const views = await deps.engine.queueOfService(deps.database, serviceId);
  return { results: views.flatMap((view) => toServiceQueueEntries(view, serviceId)) };
}

/** Takes a waiting request out of the queue. ALREADY_STARTED when it is too late for that. */
export async function withdrawRequest(deps: Deps, caller: Caller, id: string): Promise<void> {
  const place = await deps.engine.placeOfRequest(deps.database, id);
  if (place === null || !canSee(caller, place.organizationId)) throw notFound('deployment request');
  await deps.engine.withdraw(id);
}

/** What became of a request: its state word while it waits, runs, and after its end. NOT_FOUND. */
export async function readRequestStatus(deps: Deps, caller: Caller, id: string): Promise<RequestStatus> {
  // The query names the request, so that its environment is judged here, as that of a request in a path.
  await callerAt(deps, caller, operations.streamDeployment, { deploymentRequestId: id });
  const view = await deps.engine.deployment(deps.database, id);
  if (view === null) throw notFound('deployment request');
  return { deployment_request_id: id, environment_id: view.environmentId, status: view.state };
}

/** Where all services of an environment answer. */
export async function listLinks(deps: Deps, caller: Caller, environmentId: string): Promise<Links> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  return environmentLinks(deps, deps.database, environmentId);
}

export async function listHistory(deps: Deps, caller: Caller, environmentId: string, query: HistoryQuery): Promise<History> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  const page = query.page ?? 1;
  const pageSize = query.pageSize ?? defaultPageSize;
  const views = await deps.engine.environmentHistory(deps.database, environmentId, { page, pageSize });
  return { page, page_size: pageSize, results: views.map(toEnvironmentHistory) };
}

export async function readLogs(deps: Deps, caller: Caller, environmentId: string, executionId: string | null): Promise<Logs> {
  const { organizationId, clusterId } = await openEnvironment(deps.database, caller, environmentId, 'read');
  const log = await deps.engine.deploymentLog(deps.database, environmentId, executionId);
  const place = { organizationId, clusterId, executionId: log.executionId };
  return log.lines.map((line) => toEnvironmentLog(line, place));
}

export async function listEnvironmentServices(deps: Deps, caller: Caller, environmentId: string): Promise<Services> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  return { results: [...(await listServices(deps, deps.database, environmentId))] };
}
