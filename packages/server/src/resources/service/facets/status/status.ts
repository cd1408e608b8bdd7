import type { Queryable } from '@davit/db';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import type { ReleaseSettings } from '../../release.ts';
import { currentRelease } from '../../composition.ts';
import type { ServiceReference } from '../../lock.ts';
import type { ServiceFacts } from '../../rows.ts';
import { readVisibleEnvironment, readVisibleFacts } from '../../visible.ts';
import { currentServices } from './current.ts';
import { toServiceStatus, type ServiceStatusRecord } from './record.ts';

export interface TypedStatus {
  readonly type: string;
  readonly isSkipped: boolean;
  readonly status: ServiceStatusRecord;
}

/** Returns the status of a service. Runs three queries: the service, its variables, the engine's view. */
export async function readServiceStatus(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  reference: ServiceReference,
): Promise<ServiceStatusRecord> {
  return statusOf(deps, deps.database, await readVisibleFacts(deps.database, caller, reference));
}

export async function statusOf(
  deps: Needs<'engine', keyof ReleaseSettings>,
  db: Queryable,
  facts: ServiceFacts,
): Promise<ServiceStatusRecord> {
  const { config } = await currentRelease(deps, db, facts);
  const [view] = await deps.engine.services(db, [facts.id]);
  if (view === undefined) throw new Error(`the engine has no view of service ${facts.id}`);
  return toServiceStatus(view, deps.engine.hash(config));
}

/**
 * Returns the status of every service of an environment, in the order of deployment. Runs two queries for any number
 * of services, and three more after a change of their configuration.
 */
export async function serviceStatuses(
  deps: Needs<'engine', keyof ReleaseSettings>,
  db: Queryable,
  environmentId: string,
): Promise<TypedStatus[]> {
  const { services } = await currentServices(deps, db, environmentId);
  const views = await deps.engine.services(
    db,
    services.map(({ id }) => id),
  );
  return services.flatMap(({ type, isSkipped, hash }, index) => {
    const view = views[index];
    return view === undefined ? [] : [{ type, isSkipped, status: toServiceStatus(view, hash) }];
  });
}

/** Returns the status of the services of one type. */
export async function listStatuses(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  { environmentId, type }: { readonly environmentId: string; readonly type: string },
): Promise<{ results: ServiceStatusRecord[] }> {
  await readVisibleEnvironment(deps.database, caller, environmentId);
  const statuses = await serviceStatuses(deps, deps.database, environmentId);
  return { results: statuses.filter((one) => one.type === type).map(({ status }) => status) };
}
