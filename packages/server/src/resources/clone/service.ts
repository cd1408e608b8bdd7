import type { EnvironmentMode } from '@davit/contract';
import { statement, type Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import { checkEnvironment } from '../../auth/custom-role.ts';
import type { Needs } from '../../deps.ts';
import { cloneRestrictions } from '../deployment-restriction/index.ts';
import { openEnvironment } from '../environment/index.ts';
import { cloneServiceTo, lockService, readService, type RecordSettings, type ServiceReference } from '../service/index.ts';
import { notFound } from '../shared/problems.ts';
import { cloneServiceVariables } from '../variable/index.ts';

export interface ServiceCloneRequest {
  readonly name: string;
  readonly environment_id: string;
}

/** Parameter: id. */
const readMode = statement<{ mode: EnvironmentMode }>('read_mode_for_clone', `select mode from environment where id = $1`);

/**
 * Copies a service of any type into an environment of its organization, its own or another. Copies the record,
 * variables, secrets, settings, stage and restrictions. Host ports that are taken are replaced by the next free ones.
 * Things that only one service can have are not copied: data and custom domains. Everything happens in one transaction.
 * Fails with NAME_TAKEN, NOT_FOUND for the environment, INVALID_REFERENCE for the target of a variable, or
 * BEING_DELETED.
 */
export async function cloneService(
  deps: Needs<'database' | 'engine' | 'vault', keyof RecordSettings | 'gatewayPort' | 'port'>,
  caller: Caller,
  reference: ServiceReference,
  { name, environment_id }: ServiceCloneRequest,
): Promise<unknown> {
  const copyId = await deps.database.transaction(async (tx) => {
    const facts = await lockService(deps, tx, caller, { ...reference, purpose: 'add' });
    const to = await openTarget(tx, caller, environment_id.toLowerCase(), facts.organization_id);
    const { id, relink } = await cloneServiceTo(deps, tx, caller, { facts, name, to });
    const services = new Map([[facts.id, id]]);
    const from = { environmentId: facts.environment_id, projectId: facts.project_id };
    await cloneServiceVariables(deps, tx, { organizationId: facts.organization_id, from, to, services, relink });
    await cloneRestrictions(tx, services);
    return id;
  });
  return readService(deps, caller, { id: copyId, type: reference.type });
}

async function openTarget(tx: Queryable, caller: Caller, id: string, organizationId: string) {
  const environment = await openEnvironment(tx, { ...caller, organizationId }, id, 'change');
  const found = await tx.maybe(readMode, [id]);
  if (found === undefined) throw notFound('environment');
  checkEnvironment(caller, { projectId: environment.projectId, mode: found.mode });
  return { environmentId: id, projectId: environment.projectId, driver: environment.driver };
}
