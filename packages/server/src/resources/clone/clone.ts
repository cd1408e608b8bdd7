import type { operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { cloneRestrictions } from '../deployment-restriction/index.ts';
import { cloneRecord, readEnvironment, refuseClone, type CloneRequest } from '../environment/index.ts';
import { cloneServices } from '../service/index.ts';
import { relinker, type IdMap } from '../shared/relink.ts';
import { cloneVariables } from '../variable/index.ts';

type Answer = Response<(typeof operations)['cloneEnvironment']>;

/**
 * Copies an environment: stages, services, variables and secrets. Data is not copied, and nothing is deployed.
 * Everything happens in one transaction, so the copy is complete or does not exist. Fails with NAME_TAKEN,
 * INVALID_REFERENCE for the project, NOT_FOUND for the cluster, or BEING_DELETED.
 */
export async function cloneEnvironment(
  deps: Needs<'database' | 'engine' | 'vault', 'gatewayPort' | 'port'>,
  caller: Caller,
  environmentId: string,
  request: CloneRequest,
): Promise<Answer> {
  const copy = await refuseClone(request, () =>
    deps.database.transaction((tx) => copyEnvironment(deps, tx, caller, { id: environmentId, request })),
  );
  return readEnvironment(deps, caller, copy.environmentId);
}

/** A copy of an environment. `services` maps each service to its copy. */
export interface EnvironmentCopy {
  readonly environmentId: string;
  readonly services: IdMap;
}

/** Copies an environment in a transaction of the caller, who must wrap it in `refuseClone`. */
export async function copyEnvironment(
  deps: Needs<'engine' | 'vault', 'gatewayPort' | 'port'>,
  tx: Queryable,
  caller: Caller,
  { id, request }: { readonly id: string; readonly request: CloneRequest },
): Promise<EnvironmentCopy> {
  const clone = await cloneRecord(tx, caller, id, request);
  const services = await cloneServices(deps, tx, caller, clone);
  const relink = relinker(new Map([...services, [clone.from.environmentId, clone.to.environmentId]]));
  await cloneVariables(deps, tx, { ...clone, services, relink });
  await cloneRestrictions(tx, services);
  return { environmentId: clone.to.environmentId, services };
}
