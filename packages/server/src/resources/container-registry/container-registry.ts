import { randomUUID } from 'node:crypto';
import { containerRegistryKinds, type Body, type operations, type Response } from '@davit/contract';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { recordsOf } from '../organization/index.ts';
import { readUses, refuseUsed, toAssociatedService, type ServiceUse } from '../service-use/index.ts';
import { openedCredentials, requiredConfig, storedCredentials, toCredentials } from '../shared/credentials.ts';
import { refuseTakenName } from '../shared/naming.ts';
import { Problems } from '../shared/problems.ts';
import { kindRules, registryUrl, rulesOf } from './kinds.ts';
import * as store from './store.ts';

type ContainerRegistry = Response<(typeof operations)['getContainerRegistry']>;
type Available = Response<(typeof operations)['listAvailableContainerRegistry']>;
type Associated = Response<(typeof operations)['getContainerRegistryAssociatedServices']>;
type Request = Body<(typeof operations)['createContainerRegistry']>;

/** The id of a record and the organization that it belongs to. */
export interface RegistryIds {
  readonly organizationId: string;
  readonly containerRegistryId: string;
}

/** No registry is mandatory, because the local cluster does not need one of its own. */
export function listAvailable(): Available {
  const results = containerRegistryKinds.flatMap((kind) => {
    const rules = kindRules[kind];
    return rules === null ? [] : [{ kind, required_config: requiredConfig(rules), is_mandatory: false }];
  });
  return { results };
}

export async function listContainerRegistries(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
): Promise<{ results: ContainerRegistry[] }> {
  return { results: await recordsOf(deps, caller, organizationId, store.containerRegistryList) };
}

/**
 * Creates a registry. Fails with VALIDATION_FAILED or NAME_TAKEN. The registry is not contacted, because it may not
 * exist yet.
 */
export async function createContainerRegistry(
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'vendorRegistries'>,
  caller: Caller,
  organizationId: string,
  request: Request,
): Promise<ContainerRegistry> {
  const problems = new Problems();
  const url = registryUrl(request.kind, request.url ?? null, deps.config, problems);
  const credentials = toCredentials(request.config, {}, rulesOf(request.kind, problems), problems);
  problems.throwIfAny();
  const id = randomUUID();
  const { config, sealed } = storedCredentials(deps.vault, id, credentials);
  const parent = [organizationId, caller.organizationId];
  const fields = [request.name, request.description ?? '', request.kind, url, JSON.stringify(config), sealed];
  const row = await refuseTaken(request.name, () =>
    deps.database.maybe(store.containerRegistryCreate, [...parent, id, ...fields]),
  );
  if (row === undefined) throw notFound('organization');
  return row;
}

export async function readContainerRegistry(
  deps: Needs<'database'>,
  caller: Caller,
  ids: RegistryIds,
): Promise<ContainerRegistry> {
  const row = await deps.database.maybe(store.containerRegistryRead, pathValues(caller, ids));
  if (row === undefined) throw notFound('container registry');
  return row;
}

/**
 * Edits a registry. Fields that the request omits stay, and so do the credentials. If the kind or the URL changes, the
 * credentials are reset, because those of one registry must not be sent to another.
 */
export async function editContainerRegistry(
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'vendorRegistries'>,
  caller: Caller,
  ids: RegistryIds,
  request: Request,
): Promise<ContainerRegistry> {
  return deps.database.transaction(async (tx) => {
    const former = await tx.maybe(store.containerRegistryLock, pathValues(caller, ids));
    if (former === undefined) throw notFound('container registry');
    const problems = new Problems();
    const isSameKind = former.kind === request.kind;
    const wanted = request.url || (isSameKind ? former.url : null);
    const url = registryUrl(request.kind, wanted, deps.config, problems);
    const before = isSameKind && former.url === url ? openedCredentials(deps.vault, former.id, former) : {};
    const credentials = toCredentials(request.config, before, rulesOf(request.kind, problems), problems);
    problems.throwIfAny();
    const { config, sealed } = storedCredentials(deps.vault, former.id, credentials);
    const description = request.description === undefined ? former.description : (request.description ?? '');
    const fields = [request.name, description, request.kind, url, JSON.stringify(config), sealed];
    return refuseTaken(request.name, () => tx.one(store.containerRegistryEdit, [former.id, ...fields]));
  });
}

/** Fails with NOT_FOUND, or with IN_USE while a service uses the registry. */
export async function deleteContainerRegistry(deps: Needs<'database'>, caller: Caller, ids: RegistryIds): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const row = await tx.maybe(store.containerRegistryLock, pathValues(caller, ids));
    if (row === undefined) throw notFound('container registry');
    await refuseUsed(tx, 'containerRegistry', { id: row.id, noun: 'container registry' });
    await tx.run(store.containerRegistryDelete, [row.id]);
  });
}

export async function listAssociatedServices(deps: Needs<'database'>, caller: Caller, ids: RegistryIds): Promise<Associated> {
  const uses = await registryUses(deps, caller, ids);
  return { results: uses.map((use) => toAssociatedService(use, ['CONTAINER', 'LIFECYCLE', 'CRON'])) };
}

/** Returns the services that use a registry which the caller may see, oldest first. Fails with NOT_FOUND. */
export async function registryUses(deps: Needs<'database'>, caller: Caller, ids: RegistryIds): Promise<ServiceUse[]> {
  const { id } = await readContainerRegistry(deps, caller, ids);
  return readUses(deps.database, 'containerRegistry', id);
}

export function pathValues(caller: Caller, ids: RegistryIds): unknown[] {
  return [ids.organizationId, caller.organizationId, ids.containerRegistryId];
}

function refuseTaken<Result>(name: string, write: () => Promise<Result>): Promise<Result> {
  const taken = { index: 'container_registry_name', noun: 'container registry', name, where: 'in this organization' };
  return refuseTakenName(taken, write);
}
