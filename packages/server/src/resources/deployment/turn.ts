import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from '../service/index.ts';
import { openEnvironment } from '../environment/index.ts';
import { composeServices } from '../service/index.ts';
import { requestedServices, wholeEnvironment } from './deployment.ts';

/*
 * Stops and restarts an environment in a transaction of the caller. Stopped services are started as they were before.
 * Skipped services are left out. If there is nothing to do, nothing is requested. Fails with BEING_DELETED, and when
 * starting also with BILLING_RESTRICTION.
 */

/** Stops the services that are deployed and not yet stopped. */
export async function stopRunning(deps: Needs<'engine'>, tx: Queryable, caller: Caller, environmentId: string): Promise<void> {
  const environment = await openEnvironment(tx, caller, environmentId, 'change');
  const all = await requestedServices(tx, environmentId, { skipped: false });
  const states = await statesOf(
    deps,
    tx,
    all.map(({ serviceId }) => serviceId),
  );
  const services = all.filter(({ serviceId }) => !isOff(states.get(serviceId)));
  if (services.length > 0) await deps.engine.request(tx, wholeEnvironment(environment, caller, 'STOP', services));
}

/** Deploys the stopped services at the commits that were deployed, with the current configuration. */
export async function startStopped(
  deps: Needs<'engine' | 'vault', keyof ReleaseSettings>,
  tx: Queryable,
  caller: Caller,
  environmentId: string,
): Promise<void> {
  const environment = await openEnvironment(tx, caller, environmentId, 'deploy');
  const all = await composeServices(deps, tx, environmentId, { redeploy: true });
  const states = await statesOf(
    deps,
    tx,
    all.map(({ serviceId }) => serviceId),
  );
  const services = all.filter(({ serviceId }) => states.get(serviceId) === 'STOPPED');
  if (services.length > 0) await deps.engine.request(tx, wholeEnvironment(environment, caller, 'DEPLOY', services));
}

function isOff(state: string | undefined): boolean {
  return state === undefined || state === 'READY' || state === 'STOPPED' || state === 'STOP_QUEUED';
}

async function statesOf(deps: Needs<'engine'>, tx: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  return new Map((await deps.engine.services(tx, ids)).map(({ serviceId, state }) => [serviceId, state]));
}
