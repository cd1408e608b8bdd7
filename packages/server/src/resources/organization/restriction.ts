import { forRequest, type Database } from '@davit/db';
import * as store from './store.ts';

/** Returns all organizations with their restrictions, for the operator of the instance. */
export function listRestrictions(database: Database): Promise<readonly store.RestrictedRow[]> {
  return database.many(store.organizationRestrictions);
}

/**
 * Sets `billing_deployment_restriction` of the organization with this id or name. Null lifts the restriction. No
 * operation of the API does this, because only the operator of the instance may. Running deployments continue. Returns
 * undefined if there is no such organization.
 */
export async function restrict(
  database: Database,
  idOrName: string,
  restriction: string | null,
): Promise<store.RestrictedRow | undefined> {
  const change = {
    operation: 'organization restrict',
    origin: 'CLI',
    actor: 'operator',
    triggered_by: 'operator of the instance',
    user_agent: null,
    address: null,
  };
  return forRequest(change, () => database.maybe(store.organizationRestrict, [idOrName, restriction]));
}
