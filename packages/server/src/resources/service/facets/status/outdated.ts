import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import type { ReleaseSettings } from '../../release.ts';
import { listServicesOfType, type ServicesReference } from '../../list.ts';
import type { ServiceRecord } from '../../shapes/request.ts';
import { serviceStatuses } from './status.ts';

/**
 * Returns the services of one type in an environment whose configuration differs from the deployed one, oldest first.
 */
export async function listOutdated(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings>,
  caller: Caller,
  reference: ServicesReference,
): Promise<{ results: ServiceRecord[] }> {
  const { results } = await listServicesOfType(deps, caller, reference);
  const statuses = await serviceStatuses(deps, deps.database, reference.environmentId);
  const outdated = new Set(
    statuses.filter(({ status }) => status.service_deployment_status === 'OUT_OF_DATE').map(({ status }) => status.id),
  );
  return { results: results.filter(({ id }) => outdated.has(id)) };
}
