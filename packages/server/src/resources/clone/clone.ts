import type { operations, Response } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { cloneRestrictions } from '../deployment-restriction/index.ts';
import { cloneRecord, readEnvironment, refuseClone, type CloneRequest } from '../environment/index.ts';
import { cloneServices } from '../service/index.ts';
import { relinker } from '../shared/relink.ts';
import { cloneVariables } from '../variable/index.ts';

type Answer = Response<(typeof operations)['cloneEnvironment']>;

/**
 * Copies an environment: stages, services, variables and secrets. Data is not copied, and nothing is deployed. In one
 * transaction, so that there is a whole copy or none. NAME_TAKEN, INVALID_REFERENCE for the project, NOT_FOUND for the cluster,
 * BEING_DELETED.
 */
export async function cloneEnvironment(
  deps: Deps,
  caller: Caller,
  environmentId: string,
  request: CloneRequest,
): Promise<Answer> {
  const copyId = await refuseClone(request, () =>
    deps.database.transaction(async (tx) => {
      const clone = await cloneRecord(tx, caller, environmentId, request);
      const services = await cloneServices(deps, tx, caller, clone);
      const relink = relinker(new Map([...services, [clone.from.environmentId, clone.to.environmentId]]));
      await cloneVariables(deps, tx, { ...clone, services, relink });
      await cloneRestrictions(tx, services);
      return clone.to.environmentId;
    }),
  );
  return readEnvironment(deps, caller, copyId);
}
