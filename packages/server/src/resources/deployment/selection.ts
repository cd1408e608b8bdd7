import { AppError } from '@davit/base';
import { kinds, type Body, type operations, type Response, type ServiceType } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Action, RequestedService } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings, ServiceDeps } from '../service/index.ts';
import { openEnvironment } from '../environment/index.ts';
import {
  withMergeKey,
  composeSelected,
  deleteSelected,
  deploySource,
  selectInstalled,
  selectRunning,
  type DeploySource,
  type Selected,
} from '../service/index.ts';
import { invalid, Problems } from '../shared/problems.ts';
import { triggerOf } from '../shared/trigger.ts';
import { withServiceFields } from './deployment.ts';
import { environmentStatus, type EnvironmentStatus } from './status.ts';

type DeployRequest = Body<(typeof operations)['deployAllServices']>;
type IdsRequest = Body<(typeof operations)['stopSelectedServices']>;
type RestartRequest = Body<(typeof operations)['rebootServices']>;
type RestartAnswer = Response<(typeof operations)['rebootServices']>;

/** Deploys the named services in one deployment. The request is refused as a whole, see `Selected`. */
export async function deploySelected(
  deps: ServiceDeps,
  caller: Caller,
  environmentId: string,
  request: DeployRequest,
): Promise<EnvironmentStatus> {
  const selected = selectedVersions(request);
  const id = await act(deps, caller, { environmentId, action: 'DEPLOY' }, (tx) =>
    composeSelected(deps, tx, caller, { environmentId, selected }),
  );
  return { ...(await environmentStatus(deps, deps.database, environmentId)), deployment_request_id: id };
}

/**
 * Stops the named services. Fails with NEVER_DEPLOYED if one of them has nothing to stop, and otherwise like a restart.
 */
export async function stopSelected(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
  request: IdsRequest,
): Promise<void> {
  const selected = selectedIds(request);
  await act(deps, caller, { environmentId, action: 'STOP' }, (tx) => selectRunning(deps, tx, environmentId, selected));
}

export async function restartSelected(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  environmentId: string,
  request: RestartRequest,
): Promise<RestartAnswer> {
  const selected = selectedIds(request);
  const id = await act(deps, caller, { environmentId, action: 'RESTART' }, (tx) =>
    selectRunning(deps, tx, environmentId, selected),
  );
  const status = await environmentStatus(deps, deps.database, environmentId);
  return withServiceFields({ ...status, deployment_request_id: id }, 'RESTART', false);
}

export async function deleteSelectedServices(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
  request: IdsRequest,
): Promise<void> {
  const selected = selectedIds(request);
  await act(deps, caller, { environmentId, action: 'DELETE' }, (tx) => deleteSelected(deps, tx, environmentId, selected));
}

export async function uninstallSelected(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  environmentId: string,
  request: IdsRequest,
): Promise<void> {
  const selected = selectedIds(request);
  await act(deps, caller, { environmentId, action: 'UNINSTALL' }, (tx) => selectInstalled(deps, tx, environmentId, selected));
}

/**
 * Requests one deployment of the services that `select` returns, in one transaction. Requests nothing if there are
 * none. Returns the id of the request: the status of the environment names the first waiting one, which may be another.
 */
async function act(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  { environmentId, action }: { readonly environmentId: string; readonly action: Action },
  select: (tx: Queryable) => Promise<RequestedService[]>,
): Promise<string | null> {
  return deps.database.transaction((tx) => actIn(deps, tx, caller, { environmentId, action, select }));
}

/** Does what `act` does, in a transaction of the caller. Returns the id of the request. */
async function actIn(
  deps: Needs<'engine'>,
  tx: Queryable,
  caller: Caller,
  { environmentId, action, select }: Acting,
): Promise<string | null> {
  const environment = await openEnvironment(tx, caller, environmentId, action === 'DEPLOY' ? 'deploy' : 'change');
  const services = await select(tx);
  if (services.length === 0) return null;
  const request = { environment, action, wholeEnvironment: false, trigger: triggerOf(caller), services };
  return (await deps.engine.request(tx, withMergeKey(request))).deploymentId;
}

interface Acting {
  readonly environmentId: string;
  readonly action: Action;
  readonly select: (tx: Queryable) => Promise<RequestedService[]>;
}

/**
 * Requests one deployment of services at the wanted versions, in a transaction of the caller. Returns the id of the
 * request.
 */
export function requestSelected(
  deps: ServiceDeps,
  tx: Queryable,
  caller: Caller,
  { environmentId, selected }: { readonly environmentId: string; readonly selected: readonly Selected[] },
): Promise<string | null> {
  const select = (within: Queryable) => composeSelected(deps, within, caller, { environmentId, selected });
  return actIn(deps, tx, caller, { environmentId, action: 'DEPLOY', select });
}

/** Returns the services of all lists, each service once. A repeated id has no effect. */
function selectedIds(request: IdsRequest): Selected[] {
  const lists: readonly (readonly [string, ServiceType, readonly string[]])[] = [
    ['application_ids', 'APPLICATION', request.application_ids ?? []],
    ['container_ids', 'CONTAINER', request.container_ids ?? []],
    ['database_ids', 'DATABASE', request.database_ids ?? []],
    ['job_ids', 'JOB', request.job_ids ?? []],
    ['helm_ids', 'HELM', request.helm_ids ?? []],
    ['terraform_ids', 'TERRAFORM', request.terraform_ids ?? []],
  ];
  const selected = lists.flatMap(([list, type, ids]) =>
    ids.map((id, index): Selected => ({ id: id.toLowerCase(), type, path: `${list}.${index}` })),
  );
  return notEmpty([...new Map(selected.toReversed().map((one) => [one.id, one])).values()].toReversed());
}

interface Version {
  readonly id: string | null | undefined;
  /** The version in the form that a request to deploy only this service has. */
  readonly request: object;
}

/**
 * Returns the services of the lists with their versions. A repeated id is refused, because it could name two versions.
 */
function selectedVersions(request: DeployRequest): Selected[] {
  const problems = new Problems();
  const lists: readonly (readonly [string, ServiceType, string, readonly Version[]])[] = [
    ['applications', 'APPLICATION', '.application_id', (request.applications ?? []).map(toApplicationVersion)],
    ['databases', 'DATABASE', '', (request.databases ?? []).map((id) => ({ id, request: {} }))],
    ['containers', 'CONTAINER', '.id', (request.containers ?? []).map(toVersion)],
    ['jobs', 'JOB', '.id', (request.jobs ?? []).map(toVersion)],
    ['helms', 'HELM', '.id', (request.helms ?? []).map(toVersion)],
    ['terraforms', 'TERRAFORM', '.id', (request.terraforms ?? []).map(toVersion)],
  ];
  const seen = new Set<string>();
  const selected = lists.flatMap(([list, type, member, versions]) =>
    versions.flatMap((version, index): Selected[] => {
      const at = `${list}.${index}`;
      const id = version.id?.toLowerCase();
      if (id === undefined) problems.add(`${at}${member}`, 'is required');
      else if (seen.has(id)) problems.add(`${at}${member}`, 'is named twice; name each service once');
      else {
        seen.add(id);
        const choice = choiceOf(type, version.request, (path, message) => problems.add(`${at}.${path}`, message));
        return [{ id, type, path: `${at}${member}`, ...(choice && { choice }) }];
      }
      return [];
    }),
  );
  problems.throwIfAny();
  return notEmpty(selected);
}

/**
 * Applies the rules of the request that deploys a single service of this type. Returns undefined for a type that is not
 * served, because its ids name nothing.
 */
function choiceOf(type: ServiceType, request: object, report: (path: string, message: string) => void): DeploySource | undefined {
  try {
    return type in kinds ? deploySource(type, request) : undefined;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'VALIDATION_FAILED') throw error;
    for (const { path, message } of error.errors) report(path, message);
    return undefined;
  }
}

type ApplicationVersion = NonNullable<DeployRequest['applications']>[number];

function toApplicationVersion({ application_id: id, ...request }: ApplicationVersion): Version {
  return { id, request };
}

function toVersion({ id, ...request }: { readonly id?: string | null }): Version {
  return { id, request };
}

function notEmpty(selected: Selected[]): Selected[] {
  if (selected.length === 0) throw invalid('', 'the request names no service; name at least one');
  return selected;
}
