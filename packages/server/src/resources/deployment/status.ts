import type { operations, Response, ServiceType } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { deploymentState, environmentState, type EnvironmentView, type StateWord } from '@davit/engine/port';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { registryUses, type RegistryPlace } from '../container-registry/index.ts';
import { openEnvironment } from '../environment/index.ts';
import { serviceStatuses } from '../service/index.ts';
import * as store from './store.ts';

export type EnvironmentStatus = Response<(typeof operations)['getEnvironmentStatus']>;
type Statuses = Response<(typeof operations)['getEnvironmentStatuses']>;
type ServiceStatus = Statuses['applications'][number];

export async function readEnvironmentStatus(deps: Deps, caller: Caller, environmentId: string): Promise<EnvironmentStatus> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  return environmentStatus(deps, deps.database, environmentId);
}

export async function readStatuses(deps: Deps, caller: Caller, environmentId: string): Promise<Statuses> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  const services = await deps.database.many(store.placedServices, [environmentId]);
  const statuses = await serviceStatuses(deps, deps.database, environmentId);
  const typeOf = new Map(services.map(({ id, type }) => [id, type]));
  const ofType = (type: string): ServiceStatus[] => statuses.filter(({ id }) => typeOf.get(id) === type);
  return {
    environment: toStatus(environmentId, await deps.engine.environment(deps.database, environmentId), statuses, services),
    applications: ofType('APPLICATION'),
    containers: ofType('CONTAINER'),
    jobs: ofType('JOB'),
    databases: ofType('DATABASE'),
    helms: ofType('HELM'),
    terraforms: ofType('TERRAFORM'),
  };
}

// As many as the pool of connections has room for beside what else is asked; one after the other, 2,000 environments took 5 s.
const environmentsAtOnce = 8;

/** The status of each container whose image is in this registry. Three queries for each environment that they are in. */
export async function readRegistryStatuses(
  deps: Deps,
  caller: Caller,
  place: RegistryPlace,
): Promise<{ results: ServiceStatus[] }> {
  const containers = (await registryUses(deps, caller, place)).filter(({ item_type }) => item_type === 'CONTAINER');
  const ids = new Set(containers.map(({ service_id }) => service_id));
  const results: ServiceStatus[] = [];
  const environments = [...new Set(containers.map(({ environment_id }) => environment_id))];
  for (let first = 0; first < environments.length; first += environmentsAtOnce) {
    const some = environments.slice(first, first + environmentsAtOnce);
    const statuses = await Promise.all(some.map((id) => serviceStatuses(deps, deps.database, id)));
    results.push(...statuses.flat().filter(({ id }) => ids.has(id)));
  }
  return { results };
}

/** The status of an environment that the caller was found to see. */
export async function environmentStatus(deps: Deps, db: Queryable, environmentId: string): Promise<EnvironmentStatus> {
  const view = await deps.engine.environment(db, environmentId);
  const services = await db.many(store.placedServices, [environmentId]);
  return toStatus(environmentId, view, await serviceStatuses(deps, db, environmentId), services);
}

/** The state words of an environment, without what its services would need for theirs; null: there is no such environment. */
export async function environmentWords(
  deps: Pick<Deps, 'database' | 'engine'>,
  environmentId: string,
): Promise<Pick<EnvironmentStatus, 'state' | 'last_deployment_state'> | null> {
  const { database, engine } = deps;
  if ((await database.maybe(store.environmentExists, [environmentId])) === undefined) return null;
  const view = await engine.environment(database, environmentId);
  const services = await database.many(store.placedServices, [environmentId]);
  const statuses = await engine.services(
    database,
    services.map(({ id }) => id),
  );
  return { state: stateOf(view, statuses), last_deployment_state: lastDeploymentState(view) };
}

function toStatus(
  environmentId: string,
  view: EnvironmentView,
  statuses: readonly ServiceStatus[],
  services: readonly store.PlacedServiceRow[],
): EnvironmentStatus {
  const { last } = view;
  return {
    id: environmentId,
    state: stateOf(view, statuses),
    last_deployment_state: lastDeploymentState(view),
    ...(last === null ? {} : { last_deployment_date: last.at }),
    last_deployment_id: last?.executionId ?? null,
    total_deployment_duration_in_seconds:
      last === null || last.totalMilliseconds === null ? null : Math.round(last.totalMilliseconds / 1000),
    origin: last?.origin ?? null,
    triggered_by: last?.triggeredBy ?? null,
    deployment_status: deploymentStatus(statuses, services),
    deployment_request_id: view.waitingRequestId,
  };
}

// Without services, an environment is what its own deployments were: one of nothing ends in DEPLOYED as well.
function stateOf(view: EnvironmentView, statuses: readonly Pick<ServiceStatus, 'state'>[]): EnvironmentStatus['state'] {
  // A service's state is the engine's word; the contract has more words, for what the engine does not do yet.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const ofServices = environmentState(statuses.map(({ state }) => state as StateWord));
  if (ofServices !== null) return ofServices;
  return lastDeploymentState(view);
}

/**
 * The word of the deployment that runs, else of the first that waits, else of the last one that ended. Pipelines read from it when a
 * deployment that they asked for has ended, so that it must not be the end of a former one meanwhile.
 */
export function lastDeploymentState({ last, waitingAction }: EnvironmentView): StateWord {
  if (last?.running === true || waitingAction === null) return last?.state ?? 'READY';
  return deploymentState(waitingAction, 'QUEUED', false);
}

function deploymentStatus(
  statuses: readonly ServiceStatus[],
  services: readonly store.PlacedServiceRow[],
): NonNullable<EnvironmentStatus['deployment_status']> {
  const skipped = new Set(services.filter((service) => service.is_skipped).map(({ id }) => id));
  const words = statuses.filter(({ id }) => !skipped.has(id)).map((status) => status.service_deployment_status);
  if (words.every((word) => word === 'NEVER_DEPLOYED')) return 'NEVER_DEPLOYED';
  return words.every((word) => word === 'UP_TO_DATE') ? 'UP_TO_DATE' : 'OUT_OF_DATE';
}

/** Throws NOT_FOUND where the caller may not see the service, or it is of another type than the given one. */
export async function checkServiceVisible(
  deps: Deps,
  caller: Caller,
  serviceId: string,
  type: ServiceType | null = null,
): Promise<void> {
  const row = await deps.database.maybe(store.serviceOrganization, [serviceId, caller.organizationId, type]);
  if (row === undefined) throw notFound('service');
}
