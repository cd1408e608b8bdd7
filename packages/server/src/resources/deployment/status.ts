import { allEnded } from '@davit/base';
import type { operations, Response, ServiceType } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { deploymentState, environmentState, type EnvironmentView, type StateWord } from '@davit/engine/port';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from '../service/index.ts';
import { registryUses, type RegistryIds } from '../container-registry/index.ts';
import { openEnvironment } from '../environment/index.ts';
import { currentServices, deploymentStatus, serviceStatuses, type CurrentServices } from '../service/index.ts';
import { MarkedMemory } from '../shared/marked-memory.ts';
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
  // Read first, as in `environmentStatus`.
  const view = await deps.engine.environment(deps.database, environmentId);
  const statuses = await serviceStatuses(deps, deps.database, environmentId);
  const ofType = (wanted: string): ServiceStatus[] => statuses.filter(({ type }) => type === wanted).map(({ status }) => status);
  const words = wordsOf(
    statuses.map(({ isSkipped, status }) => ({
      isSkipped,
      state: status.state,
      deploymentStatus: status.service_deployment_status,
    })),
  );
  return {
    environment: toStatus(environmentId, view, words),
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
    results.push(
      ...statuses
        .flat()
        .map(({ status }) => status)
        .filter(({ id }) => ids.has(id)),
    );
  }
  return { results };
}

/** Returns the status of an environment. The caller's access must have been checked before. */
export async function environmentStatus(
  deps: Needs<'engine', keyof ReleaseSettings>,
  db: Queryable,
  environmentId: string,
): Promise<EnvironmentStatus> {
  // The deployment is read before the states of services: a status that shows its end shows theirs, too.
  const [view, current] = await allEnded([deps.engine.environment(db, environmentId), currentServices(deps, db, environmentId)]);
  return toStatus(environmentId, view, await environmentWordsOf(deps, db, environmentId, current));
}

/** The part of an environment's status that depends on its services. `state` is null without services. */
interface Words {
  readonly state: StateWord | null;
  readonly deploymentStatus: NonNullable<EnvironmentStatus['deployment_status']>;
}

const mostEnvironments = 20_000;
/** By configuration, as the releases with which the services are compared. */
const memories = new WeakMap<object, MarkedMemory<Words>>();

/** Summarizes the services of an environment. They are only looked at one by one after something has changed. */
async function environmentWordsOf(
  deps: Needs<'engine', keyof ReleaseSettings>,
  db: Queryable,
  environmentId: string,
  { mark, services }: CurrentServices,
): Promise<Words> {
  const memory = memories.get(deps.config) ?? new MarkedMemory(mostEnvironments, () => 0);
  memories.set(deps.config, memory);
  const before = await deps.engine.stateMark(db, environmentId);
  const known = memory.get(environmentId, `${before} ${mark}`);
  if (known !== undefined) return known;
  const views = await deps.engine.serviceStates(
    db,
    services.map(({ id }) => id),
  );
  const words = wordsOf(
    services.flatMap(({ isSkipped, hash }, index) => {
      const view = views[index];
      return view === undefined ? [] : [{ isSkipped, state: view.state, deploymentStatus: deploymentStatus(view, hash) }];
    }),
  );
  memory.set(environmentId, `${before} ${mark}`, words);
  return words;
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
  const views = await engine.serviceStates(
    database,
    services.map(({ id }) => id),
  );
  const state = environmentState(views.map((service) => service.state));
  return { state: state ?? lastDeploymentState(view), last_deployment_state: lastDeploymentState(view) };
}

function toStatus(environmentId: string, view: EnvironmentView, words: Words): EnvironmentStatus {
  const { last } = view;
  return {
    id: environmentId,
    // An environment without services has the state of its own deployments. A deployment of no services also ends in
    // DEPLOYED.
    state: words.state ?? lastDeploymentState(view),
    last_deployment_state: lastDeploymentState(view),
    ...(last === null ? {} : { last_deployment_date: last.at }),
    last_deployment_id: last?.executionId ?? null,
    total_deployment_duration_in_seconds:
      last === null || last.totalMilliseconds === null ? null : Math.round(last.totalMilliseconds / 1000),
    origin: last?.origin ?? null,
    triggered_by: last?.triggeredBy ?? null,
    deployment_status: words.deploymentStatus,
    deployment_request_id: view.waitingRequestId,
  };
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

interface ServiceWords {
  readonly isSkipped: boolean;
  readonly state: ServiceStatus['state'];
  readonly deploymentStatus: ServiceStatus['service_deployment_status'];
}

/** Summarizes the services of an environment. Skipped services count for the state only. */
export function wordsOf(services: readonly ServiceWords[]): Words {
  const compared = services.filter(({ isSkipped }) => !isSkipped).map((service) => service.deploymentStatus);
  // A service's state is a state of the engine. The contract has further states, for things that the engine does not do
  // yet.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const states = services.map(({ state }) => state as StateWord);
  return { state: environmentState(states), deploymentStatus: summaryOf(compared) };
}

function summaryOf(words: readonly ServiceStatus['service_deployment_status'][]): Words['deploymentStatus'] {
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
