import { operations, type Body, type Query, type Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Action, DeploymentRequest, RequestedService } from '@davit/engine/port';
import { callerAt, notFound } from '../../auth/authorize.ts';
import { canSee, type Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { RecordSettings, ReleaseSettings } from '../service/index.ts';
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

/** The action to perform on all services of an environment that are not skipped. */
export interface EnvironmentActionRequest {
  readonly environmentId: string;
  readonly what: 'deploy' | 'redeploy' | 'stop';
  readonly dryRun: boolean;
}

/** Deploys, redeploys or stops an environment. A dry run returns the plan instead. */
export async function actOnEnvironment(
  deps: Needs<'database' | 'engine' | 'vault', keyof ReleaseSettings>,
  caller: Caller,
  wanted: EnvironmentActionRequest,
): Promise<Answer> {
  const { environmentId, what, dryRun } = wanted;
  const { status, request } = await deps.database.transaction(async (tx) => {
    const environment = await openEnvironment(tx, caller, environmentId, what === 'stop' ? 'change' : 'deploy');
    const services =
      what === 'stop'
        ? await requestedServices(tx, environmentId, { skipped: false })
        : await composeServices(deps, tx, environmentId, { redeploy: what === 'redeploy' });
    const request = wholeEnvironment(environment, caller, what === 'stop' ? 'STOP' : 'DEPLOY', services);
    const queued = dryRun ? null : await deps.engine.request(tx, request);
    const status = await environmentStatus(deps, tx, environmentId);
    // The status names the first waiting request, which may be another.
    return { status: queued === null ? status : { ...status, deployment_request_id: queued.deploymentId }, request };
  });
  return dryRun ? { ...status, plan: toPlan(await deps.engine.plan(request)) } : status;
}

/**
 * Requests a deployment of an environment in a transaction of the caller. Services in `commits` are deployed at those
 * commits. All others are deployed at their newest commits, or with `redeploy` at their deployed commits. Returns the
 * id of the request.
 */
export async function requestEnvironment(
  deps: Needs<'engine' | 'vault', keyof ReleaseSettings>,
  tx: Queryable,
  caller: Caller,
  { environmentId, redeploy, commits }: WantedCommits,
): Promise<string> {
  const environment = await openEnvironment(tx, caller, environmentId, 'deploy');
  const services = (await composeServices(deps, tx, environmentId, { redeploy })).map((service): RequestedService => {
    const commitId = commits.get(service.serviceId);
    const { release } = service;
    if (commitId === undefined || release === undefined || !('config' in release)) return service;
    return { ...service, release: { ...release, commitId } };
  });
  return (await deps.engine.request(tx, wholeEnvironment(environment, caller, 'DEPLOY', services))).deploymentId;
}

interface WantedCommits {
  readonly environmentId: string;
  readonly redeploy: boolean;
  /** Commit for each service id. */
  readonly commits: ReadonlyMap<string, string>;
}

/**
 * Deploys like `actOnEnvironment`. The answer also has the fields of a service's status, which the public API
 * description requires here.
 */
export async function deployEnvironment(
  deps: Needs<'database' | 'engine' | 'vault', keyof ReleaseSettings>,
  caller: Caller,
  wanted: EnvironmentActionRequest,
): Promise<DeployAnswer> {
  return withServiceFields(await actOnEnvironment(deps, caller, wanted), 'DEPLOY', wanted.dryRun);
}

/**
 * Returns an environment's status with the fields that the public API description takes from the status of a service.
 */
export function withServiceFields(answer: Answer, action: 'DEPLOY' | 'RESTART', dryRun: boolean): DeployAnswer {
  return {
    ...answer,
    service_deployment_status: answer.deployment_status ?? 'NEVER_DEPLOYED',
    is_part_last_deployment: true,
    status_details: { action, status: dryRun ? 'NEVER' : 'QUEUED', sub_action: 'NONE' },
    deployment_requests_count: answer.deployment_request_id === null ? 0 : 1,
  };
}

/** Returns a request for an environment as a whole. */
export function wholeEnvironment(
  environment: OpenEnvironment,
  caller: Caller,
  action: Action,
  services: readonly RequestedService[],
): DeploymentRequest {
  return { environment, action, wholeEnvironment: true, trigger: triggerOf(caller), services };
}

/** Returns the services of an environment, for an action that does not need their releases. */
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
 * Deletes an environment. If nothing was ever deployed in it, the environment is deleted at once. Otherwise the engine
 * first removes everything from the cluster, skipped services included, and the record stays visible until then. A
 * repeated call during the deletion changes nothing. A repeated call after a failure retries.
 */
export async function deleteEnvironment(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const environment = await openEnvironment(tx, caller, environmentId, 'delete');
    if (environment.deleting) return;
    const view = await deps.engine.environment(tx, environmentId);
    if (view.last === null && view.waitingRequestId === null) {
      await removeEnvironment(tx, environmentId);
      return;
    }
    await markDeleting(tx, environmentId);
    const services = await requestedServices(tx, environmentId, { skipped: true });
    await deps.engine.request(tx, wholeEnvironment(environment, caller, 'DELETE', services));
  });
}

/**
 * Removes all services from their cluster, skipped services included. If nothing is deployed, nothing is requested. The
 * records stay.
 */
export async function uninstallEnvironment(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
): Promise<Record<string, never>> {
  await deps.database.transaction(async (tx) => {
    const environment = await openEnvironment(tx, caller, environmentId, 'change');
    const services: RequestedService[] = [];
    for (const service of await requestedServices(tx, environmentId, { skipped: true })) {
      if (await deps.engine.isKnown(tx, service.serviceId)) services.push(service);
    }
    if (services.length > 0) await deps.engine.request(tx, wholeEnvironment(environment, caller, 'UNINSTALL', services));
  });
  return {};
}

export async function cancelDeployment(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  environmentId: string,
  request: CancelRequest,
): Promise<EnvironmentStatus> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  await deps.engine.cancel(environmentId, request?.force_cancel ?? false);
  return environmentStatus(deps, deps.database, environmentId);
}

export async function listEnvironmentQueue(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
): Promise<EnvironmentQueue> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  const views = await deps.engine.queueOfEnvironment(deps.database, environmentId);
  return { results: views.map(toEnvironmentQueueEntry) };
}

export async function listServiceQueue(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  serviceId: string,
): Promise<ServiceQueue> {
  await checkServiceVisible(deps, caller, serviceId);
  const views = await deps.engine.queueOfService(deps.database, serviceId);
  return { results: views.flatMap((view) => toServiceQueueEntries(view, serviceId)) };
}

/** Removes a waiting request from the queue. Fails with ALREADY_STARTED if the request is already running. */
export async function withdrawRequest(deps: Needs<'database' | 'engine'>, caller: Caller, id: string): Promise<void> {
  const ids = await deps.engine.environmentOfRequest(deps.database, id);
  if (ids === null || !canSee(caller, ids.organizationId)) throw notFound('deployment request');
  await deps.engine.withdraw(id);
}

/** Returns the state of a request while it waits, while it runs, and after it has ended. Fails with NOT_FOUND. */
export async function readRequestStatus(deps: Needs<'database' | 'engine'>, caller: Caller, id: string): Promise<RequestStatus> {
  // The query names the request, not the path. Access to its environment is therefore checked here, as for a request in
  // a path.
  await callerAt(deps, caller, operations.streamDeployment, { deploymentRequestId: id });
  const view = await deps.engine.deployment(deps.database, id);
  if (view === null) throw notFound('deployment request');
  const { environmentId: environment_id, executionId: execution_id } = view;
  return { deployment_request_id: id, environment_id, status: view.state, execution_id };
}

/** Returns the links of all services of an environment. */
export async function listLinks(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings | 'gatewayHttpsPort'>,
  caller: Caller,
  environmentId: string,
): Promise<Links> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  return environmentLinks(deps, deps.database, environmentId);
}

export async function listHistory(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
  query: HistoryQuery,
): Promise<History> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  const page = query.page ?? 1;
  const pageSize = query.pageSize ?? defaultPageSize;
  const views = await deps.engine.environmentHistory(deps.database, environmentId, { page, pageSize });
  return { page, page_size: pageSize, results: views.map(toEnvironmentHistory) };
}

export async function readLogs(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
  executionId: string | null,
): Promise<Logs> {
  const { organizationId, clusterId } = await openEnvironment(deps.database, caller, environmentId, 'read');
  const log = await deps.engine.deploymentLog(deps.database, environmentId, executionId);
  const ids = { organizationId, clusterId, executionId: log.executionId };
  return log.lines.map((line) => toEnvironmentLog(line, ids));
}

export async function listEnvironmentServices(
  deps: Needs<'database' | 'engine', keyof RecordSettings>,
  caller: Caller,
  environmentId: string,
): Promise<Services> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  return { results: [...(await listServices(deps, deps.database, environmentId))] };
}
