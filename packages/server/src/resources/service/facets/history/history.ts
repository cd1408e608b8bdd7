import { serviceTypes, type operations, type Response } from '@davit/contract';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import { toHistoryService } from '../../../shared/engine-views.ts';
import { notFound } from '../../../shared/problems.ts';
import { kindOf } from '../../kinds/index.ts';
import type { ServiceReference } from '../../lock.ts';
import { findService } from '../../store.ts';

export type ServiceHistoryRecord = Response<(typeof operations)['listApplicationDeploymentHistoryV2']>;

const defaultPageSize = 20;

/** Returns the deployments of a service, newest first. */
export async function readHistory(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  { id, type }: ServiceReference,
  { page = 1, pageSize = defaultPageSize }: { readonly page?: number | undefined; readonly pageSize?: number | undefined },
): Promise<ServiceHistoryRecord> {
  await assertVisible(deps, caller, id, type);
  const views = await deps.engine.serviceHistory(deps.database, id, { page, pageSize });
  return { page, page_size: pageSize, results: views.map(toHistoryService) };
}

/** Returns the deployments in the older format, which continues after a given deployment instead of using pages. */
export async function readOldHistory(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  { id, type }: ServiceReference,
  startId: string | undefined,
): Promise<object> {
  await assertVisible(deps, caller, id, type);
  const page = { page: 1, pageSize: defaultPageSize, before: startId };
  const views = await deps.engine.serviceHistory(deps.database, id, page);
  return {
    page: 1,
    page_size: defaultPageSize,
    results: views.map((view) => ({
      id: view.deploymentId,
      created_at: view.createdAt,
      updated_at: view.updatedAt,
      name: view.name,
      status: view.state,
      ...kindOf(type).oldHistory?.(view),
    })),
  };
}

export async function assertVisible(deps: Needs<'database'>, caller: Caller, id: string, type: string | null): Promise<void> {
  if ((await deps.database.maybe(findService, [id, type, caller.organizationId])) === undefined) throw notFound('service');
}

/** Returns the contract's word for a stored type. */
export function typeWord(type: string): (typeof serviceTypes)[number] {
  const word = serviceTypes.find((one) => one === type);
  if (word === undefined) throw new Error(`there is no service type ${type}`);
  return word;
}
