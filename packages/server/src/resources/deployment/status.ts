import type { operations, Response, ServiceType } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { deploymentState, environmentState, type EnvironmentView, type StateWord } from '@davit/engine/port';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from '../service/index.ts';
import { registryUses, type RegistryIds } from '../container-registry/index.ts';
import { openEnvironment } from '../environment/index.ts';
import { serviceStatuses } from '../service/index.ts';
import * as store from './store.ts';

export type EnvironmentStatus = Response<(typeof operations)['getEnvironmentStatus']>;
type Statuses = Response<(typeof operations)['getEnvironmentStatuses']>;
type ServiceStatus = Statuses['applications'][number];

export async function readEnvironmentStatus(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  environmentId: string,
): Promise<EnvironmentStatus> {
  await openEnvironment(deps.database, caller, environmentId, 'read');
  return environmentStatus(deps, deps.database, environmentId);
}

export async function readStatuses(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  environmentId: string,
): Promise<Statuses> {
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

// The connection pool has room for this many beside other queries. One environment at a time, 2,000 environments took 5
// s.
const environmentsAtOnce = 8;

/**
 * Returns the status of each container whose image is in this registry. Three queries run for each of their
 * environments.
 */
export async function readRegistryStatuses(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  pathIds: RegistryIds,
): Promise<{ results: ServiceStatus[] }> {
  const containers = (await registryUses(deps, caller, pathIds)).filter(({ item_type }) => item_type === 'CONTAINER');
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

/** Returns the status of an environment. The caller's access must have been checked before. */
export async function environmentStatus(
  deps: Needs<'engine', keyof ReleaseSettings>,
  db: Queryable,
  environmentId: string,
): Promise<EnvironmentStatus> {
  const view = await deps.engine.environment(db, environmentId);
  const services = await db.many(store.placedServices, [environmentId]);
  return toStatus(environmentId, view, await serviceStatuses(deps, db, environmentId), services);
}

/**
 * Returns the states of an environment, without the data that its services would need for theirs. Null if there is no
 * such environment.
 */
export async function environmentWords(
  deps: Needs<'database' | 'engine'>,
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

// An environment without services has the state of its own deployments. A deployment of no services also ends in
// DEPLOYED.
function stateOf(view: EnvironmentView, statuses: readonly Pick<ServiceStatus, 'state'>[]): EnvironmentStatus['state'] {
  // A service's state is a state of the engine. The contract has further states, for things that the engine does not do
  // yet.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const ofServices = environmentState(statuses.map(({ state }) => state as StateWord));
  if (ofServices !== null) return ofServices;
  return lastDeploymentState(view);
}

/**
 * Returns the state of the running deployment, otherwise of the first waiting one, otherwise of the last one that
 * ended. Pipelines read from this state that the deployment they requested has ended. It must therefore not be the end
 * of an earlier deployment.
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

/** Fails with NOT_FOUND if the caller may not see the service, or if the service is of another type. */
export async function checkServiceVisible(
  deps: Needs<'database'>,
  caller: Caller,
  serviceId: string,
  type: ServiceType | null = null,
): Promise<void> {
  const row = await deps.database.maybe(store.serviceOrganization, [serviceId, caller.organizationId, type]);
  if (row === undefined) throw notFound('service');
}
