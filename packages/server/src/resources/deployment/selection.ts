import { AppError } from '@davit/base';
import { kinds, type Body, type operations, type Response, type ServiceType } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import { deploySource, requestSelected, type Selected, type Selection, type ServiceDeps } from '../service/index.ts';
import { invalid, Problems } from '../shared/problems.ts';
import { withServiceFields } from './deployment.ts';
import { environmentStatus, type EnvironmentStatus } from './status.ts';

type DeployRequest = Body<(typeof operations)['deployAllServices']>;
type IdsRequest = Body<(typeof operations)['stopSelectedServices']>;
type RestartRequest = Body<(typeof operations)['rebootServices']>;
type RestartAnswer = Response<(typeof operations)['rebootServices']>;

/** Deploys the named services in one deployment. The request is refused as a whole; see `requestSelected`. */
export async function deploySelected(
  deps: ServiceDeps,
  caller: Caller,
  environmentId: string,
  request: DeployRequest,
): Promise<EnvironmentStatus> {
  const id = await act(deps, caller, { environmentId, action: 'DEPLOY', selected: selectedVersions(request) });
  return { ...(await environmentStatus(deps, deps.database, environmentId)), deployment_request_id: id };
}

/**
 * Stops the named services. Fails with NEVER_DEPLOYED if one of them has nothing to stop, and otherwise like a restart.
 */
export async function stopSelected(deps: ServiceDeps, caller: Caller, environmentId: string, request: IdsRequest): Promise<void> {
  await act(deps, caller, { environmentId, action: 'STOP', selected: selectedIds(request) });
}

export async function restartSelected(
  deps: ServiceDeps,
  caller: Caller,
  environmentId: string,
  request: RestartRequest,
): Promise<RestartAnswer> {
  const id = await act(deps, caller, { environmentId, action: 'RESTART', selected: selectedIds(request) });
  const status = await environmentStatus(deps, deps.database, environmentId);
  return withServiceFields({ ...status, deployment_request_id: id }, 'RESTART', false);
}

export async function deleteSelected(
  deps: ServiceDeps,
  caller: Caller,
  environmentId: string,
  request: IdsRequest,
): Promise<void> {
  await act(deps, caller, { environmentId, action: 'DELETE', selected: selectedIds(request) });
}

export async function uninstallSelected(
  deps: ServiceDeps,
  caller: Caller,
  environmentId: string,
  request: IdsRequest,
): Promise<void> {
  await act(deps, caller, { environmentId, action: 'UNINSTALL', selected: selectedIds(request) });
}

/** Requests the action in a transaction of its own. Returns the id of the request; see `requestSelected`. */
function act(deps: ServiceDeps, caller: Caller, selection: Selection): Promise<string | null> {
  return deps.database.transaction((tx) => requestSelected(deps, tx, caller, selection));
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
function choiceOf(type: ServiceType, request: object, report: (path: string, message: string) => void): Selected['choice'] {
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
