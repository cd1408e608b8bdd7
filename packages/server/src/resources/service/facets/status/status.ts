import type { Queryable } from '@davit/db';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import type { ReleaseSettings } from '../../release.ts';
import { notFound } from '../../../shared/problems.ts';
import { currentRelease, currentReleases } from '../../composition.ts';
import type { ServiceReference } from '../../lock.ts';
import type { ServiceFacts } from '../../rows.ts';
import { readVisibleEnvironment } from '../../environment.ts';
import { readEnvironmentFacts, readFacts } from '../../store.ts';
import { toServiceStatus, type ServiceStatusRecord } from './record.ts';

/** Returns the status of a service. Runs three queries: the service, its variables, the engine's view. */
export async function readServiceStatus(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  { id, type }: ServiceReference,
): Promise<ServiceStatusRecord> {
  const facts = await deps.database.maybe(readFacts, [id, type, caller.organizationId]);
  if (facts === undefined) throw notFound('service');
  return statusOf(deps, deps.database, facts);
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
 * Returns the status of every service of an environment, in the order of deployment. Runs three queries for any number
 * of services.
 */
export async function serviceStatuses(
  deps: Needs<'engine', keyof ReleaseSettings>,
  db: Queryable,
  environmentId: string,
): Promise<ServiceStatusRecord[]> {
  return (await typedStatuses(deps, db, environmentId)).map(({ status }) => status);
}

async function typedStatuses(
  deps: Needs<'engine', keyof ReleaseSettings>,
  db: Queryable,
  environmentId: string,
): Promise<{ readonly type: string; readonly status: ServiceStatusRecord }[]> {
  const services = await db.many(readEnvironmentFacts, [environmentId]);
  const releases = await currentReleases(deps, db, environmentId, services);
  const ids = services.map((facts) => facts.id);
  const views = ids.length === 0 ? [] : await deps.engine.services(db, ids);
  return services.flatMap((facts, index) => {
    const view = views[index];
    const release = releases[index];
    if (view === undefined || release === undefined) return [];
    return [{ type: facts.type, status: toServiceStatus(view, deps.engine.hash(release.config)) }];
  });
}

/** Returns the status of the services of one type. */
export async function listStatuses(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  { environmentId, type }: { readonly environmentId: string; readonly type: string },
): Promise<{ results: ServiceStatusRecord[] }> {
  await readVisibleEnvironment(deps.database, caller, environmentId);
  const statuses = await typedStatuses(deps, deps.database, environmentId);
  return { results: statuses.filter((one) => one.type === type).map(({ status }) => status) };
}
