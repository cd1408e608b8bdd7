import { AppError, never } from '@davit/base';
import type { ServiceType } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Action, RequestedService } from '@davit/engine/port';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import type { ServiceDeps } from '../../deps.ts';
import { openEnvironment } from '../../../environment/index.ts';
import { invalid, invalidReference, validationError } from '../../../shared/problems.ts';
import { triggerOf } from '../../../shared/trigger.ts';
import { currentReleases, releasable } from '../../composition.ts';
import type { DeploySource } from '../../kinds/kind.ts';
import { assertStays, isBeingDeleted } from '../../lock.ts';
import type { ServiceFacts } from '../../rows.ts';
import { editLocked, removeService } from '../../service.ts';
import { lockSelectedFacts, setDeleting } from '../../store.ts';
import { toRequestedService } from './request.ts';
import { runFor, withMergeKey } from './terraform.ts';

/** A service named by a request for several services. */
export interface Selected {
  readonly id: string;
  readonly type: ServiceType;
  /** Path of the service in the request, as in `applications.0.application_id`. */
  readonly path: string;
  /** Wish for the deployment of this service. */
  readonly choice?: DeploySource;
}

/** An action on several services of one environment. */
export interface Selection {
  readonly environmentId: string;
  readonly action: Action;
  readonly selected: readonly Selected[];
}

/**
 * Requests one deployment that does the action to all selected services, in a transaction of the caller. Returns the id
 * of the request, which need not be the one that the environment's status names; null if nothing was left to request.
 *
 * Fails with INVALID_REFERENCE for the first id that names no service of that type in the environment, with
 * BEING_DELETED, or as the engine refuses the request.
 */
export async function requestSelected(
  deps: ServiceDeps,
  tx: Queryable,
  caller: Caller,
  selection: Selection,
): Promise<string | null> {
  const { environmentId, action } = selection;
  const environment = await openEnvironment(tx, caller, environmentId, action === 'DEPLOY' ? 'deploy' : 'change');
  const services = await chosenServices(deps, tx, caller, selection);
  if (services.length === 0) return null;
  const request = { environment, action, wholeEnvironment: false, trigger: triggerOf(caller), services };
  return (await deps.engine.request(tx, withMergeKey(request))).deploymentId;
}

function chosenServices(
  deps: ServiceDeps,
  tx: Queryable,
  caller: Caller,
  { environmentId, action, selected }: Selection,
): Promise<RequestedService[]> {
  switch (action) {
    case 'DEPLOY':
      return composeSelected(deps, tx, caller, { environmentId, selected });
    case 'RESTART':
    case 'STOP':
      return selectRunning(deps, tx, environmentId, selected);
    case 'DELETE':
      return deleteSelected(deps, tx, environmentId, selected);
    case 'UNINSTALL':
      return selectInstalled(deps, tx, environmentId, selected);
    default:
      return never(action);
  }
}

// The functions below lock the services until the end of the transaction, in one order.

/**
 * Returns the services with their current configuration, in the order of deployment. Edits a service first if the
 * wished version is part of its spec. Refuses skipped services.
 */
async function composeSelected(
  deps: ServiceDeps,
  tx: Queryable,
  caller: Caller,
  { environmentId, selected }: { readonly environmentId: string; readonly selected: readonly Selected[] },
): Promise<RequestedService[]> {
  const locked = await lockStaying(deps, tx, environmentId, selected);
  refuseSkipped(locked, selected);
  const choices = new Map(selected.map(({ id, choice }) => [id, choice]));
  for (const one of selected) checkChoice(one, locked);
  const services: ServiceFacts[] = [];
  for (const facts of locked) {
    const request = choices.get(facts.id)?.edit;
    services.push(request === undefined ? facts : (await editLocked(deps, tx, caller, { facts, request })).row);
  }
  const releases = await currentReleases(deps, tx, environmentId, services);
  const requested: RequestedService[] = [];
  for (const [index, facts] of services.entries()) {
    const release = releases[index];
    if (release === undefined) continue;
    const { commitId = null, valuesCommitId, terraformAction } = choices.get(facts.id) ?? {};
    const config = runFor(await releasable(deps, tx, facts, release), terraformAction);
    requested.push(toRequestedService(facts, { config, commitId, ...(valuesCommitId !== undefined && { valuesCommitId }) }));
  }
  return requested;
}

/** Fails with VALIDATION_FAILED, at the service's path in the request, if a wish does not fit the service. */
function checkChoice({ id, path, choice }: Selected, services: readonly ServiceFacts[]): void {
  const spec = services.find((facts) => facts.id === id)?.spec;
  try {
    if (spec !== undefined) choice?.check?.(spec);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'VALIDATION_FAILED') throw error;
    const at = path.slice(0, path.lastIndexOf('.'));
    throw validationError(error.errors.map((one) => ({ ...one, path: `${at}.${one.path}` })));
  }
}

/** Returns the services to stop or restart. Refuses skipped services. */
async function selectRunning(
  deps: Needs<'engine'>,
  tx: Queryable,
  environmentId: string,
  selected: readonly Selected[],
): Promise<RequestedService[]> {
  const services = await lockStaying(deps, tx, environmentId, selected);
  refuseSkipped(services, selected);
  return services.map((facts) => toRequestedService(facts, undefined));
}

/** Returns the services to uninstall: those that may have resources on their cluster. */
async function selectInstalled(
  deps: Needs<'engine'>,
  tx: Queryable,
  environmentId: string,
  selected: readonly Selected[],
): Promise<RequestedService[]> {
  const known: RequestedService[] = [];
  for (const facts of await lockStaying(deps, tx, environmentId, selected)) {
    if (await deps.engine.isKnown(tx, facts.id)) known.push(toRequestedService(facts, undefined));
  }
  return known;
}

/**
 * Removes the services that have no resources on a cluster and no queued requests. Marks the other services as being
 * deleted, and returns them for a deployment that deletes them. Ignores services that are already being deleted.
 */
async function deleteSelected(
  deps: Needs<'engine'>,
  tx: Queryable,
  environmentId: string,
  selected: readonly Selected[],
): Promise<RequestedService[]> {
  const remaining: RequestedService[] = [];
  for (const facts of await lock(tx, environmentId, selected)) {
    if (await isBeingDeleted(deps, tx, facts)) continue;
    if (await deps.engine.isKnown(tx, facts.id)) {
      await tx.run(setDeleting, [facts.id, true]);
      remaining.push(toRequestedService(facts, undefined));
    } else await removeService(tx, facts.id);
  }
  return remaining;
}

async function lockStaying(
  deps: Needs<'engine'>,
  tx: Queryable,
  environmentId: string,
  selected: readonly Selected[],
): Promise<ServiceFacts[]> {
  const services = await lock(tx, environmentId, selected);
  for (const facts of services) {
    await assertStays(deps, tx, facts);
    if (facts.deleting) await tx.run(setDeleting, [facts.id, false]);
  }
  return services;
}

async function lock(tx: Queryable, environmentId: string, selected: readonly Selected[]): Promise<ServiceFacts[]> {
  const services = await tx.many(lockSelectedFacts, [environmentId, selected.map(({ id }) => id)]);
  const types = new Map(services.map(({ id, type }) => [id, type]));
  const unknown = selected.find(({ id, type }) => types.get(id) !== type);
  if (unknown !== undefined) {
    throw invalidReference(unknown.path, `is not the id of a service of type ${unknown.type} in this environment`);
  }
  return services;
}

// Actions on an environment leave out skipped services (semantics 3.4).
function refuseSkipped(services: readonly ServiceFacts[], selected: readonly Selected[]): void {
  const skipped = services.find((facts) => facts.is_skipped);
  if (skipped === undefined) return;
  const path = selected.find(({ id }) => id === skipped.id)?.path ?? '';
  throw invalid(
    path,
    `names ${skipped.name}, which is skipped in its stage; act on it by itself, or attach it to its stage without is_skipped`,
  );
}
