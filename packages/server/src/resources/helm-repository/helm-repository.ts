import { randomUUID } from 'node:crypto';
import { helmRepositoryKinds, type Body, type operations, type Response } from '@davit/contract';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { recordsOf } from '../organization/index.ts';
import { readUses, refuseUsed, toAssociatedService } from '../service-use/index.ts';
import { openedCredentials, refuseKeptSecrets, requiredConfig, storedCredentials, toCredentials } from '../shared/credentials.ts';
import { refuseTakenName } from '../shared/naming.ts';
import { Problems } from '../shared/problems.ts';
import { repositoryUrl, rulesOf } from './kinds.ts';
import * as store from './store.ts';

type HelmRepository = Response<(typeof operations)['getHelmRepository']>;
type Available = Response<(typeof operations)['listAvailableHelmRepository']>;
type Associated = Response<(typeof operations)['getHelmRepositoryAssociatedServices']>;
type Request = Body<(typeof operations)['createHelmRepository']>;

/** The id of a record and the organization that it belongs to. */
export interface HelmRepositoryIds {
  readonly organizationId: string;
  readonly helmRepositoryId: string;
}

export function listAvailable(): Available {
  return {
    results: helmRepositoryKinds.map((kind) => ({ kind, required_config: requiredConfig(rulesOf(kind)), is_mandatory: false })),
  };
}

export async function listHelmRepositories(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
): Promise<{ results: HelmRepository[] }> {
  return { results: await recordsOf(deps, caller, organizationId, store.helmRepositoryList) };
}

/**
 * Creates a repository. Fails with VALIDATION_FAILED or NAME_TAKEN. The repository is not contacted, because it may not
 * exist yet.
 */
export async function createHelmRepository(
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'vendorRegistries'>,
  caller: Caller,
  organizationId: string,
  request: Request,
): Promise<HelmRepository> {
  const problems = new Problems();
  const url = repositoryUrl(request.kind, request.url ?? null, deps.config, problems);
  const credentials = toCredentials(request.config, {}, rulesOf(request.kind), problems);
  problems.throwIfAny();
  const id = randomUUID();
  const { config, sealed } = storedCredentials(deps.vault, id, credentials);
  const parent = [organizationId, caller.organizationId];
  const fields = [
    request.name,
    request.description ?? '',
    request.kind,
    url,
    request.skip_tls_verification,
    JSON.stringify(config),
    sealed,
  ];
  const row = await refuseTaken(request.name, () => deps.database.maybe(store.helmRepositoryCreate, [...parent, id, ...fields]));
  if (row === undefined) throw notFound('organization');
  return row;
}

export async function readHelmRepository(
  deps: Needs<'database'>,
  caller: Caller,
  ids: HelmRepositoryIds,
): Promise<HelmRepository> {
  const row = await deps.database.maybe(store.helmRepositoryRead, pathValues(caller, ids));
  if (row === undefined) throw notFound('Helm repository');
  return row;
}

/**
 * Edits a repository. Fields that the request omits stay, and so do the credentials. If the kind or the URL changes,
 * the credentials are reset, because those of one repository must not be sent to another. If the verification of TLS is
 * switched off, secrets must be given again: without it, an impostor could receive them.
 */
export async function editHelmRepository(
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'vendorRegistries'>,
  caller: Caller,
  ids: HelmRepositoryIds,
  request: Request,
): Promise<HelmRepository> {
  return deps.database.transaction(async (tx) => {
    const former = await tx.maybe(store.helmRepositoryLock, pathValues(caller, ids));
    if (former === undefined) throw notFound('Helm repository');
    const problems = new Problems();
    const isSameKind = former.kind === request.kind;
    const wanted = request.url || (isSameKind ? former.url : null);
    const url = repositoryUrl(request.kind, wanted, deps.config, problems);
    const before = isSameKind && former.url === url ? openedCredentials(deps.vault, former.id, former) : {};
    const credentials = toCredentials(request.config, before, rulesOf(request.kind), problems);
    if (request.skip_tls_verification && !former.skip_tls_verification) {
      refuseKeptSecrets(
        request.config,
        before,
        'skip_tls_verification is switched on: a stored secret goes to no other server',
        problems,
      );
    }
    problems.throwIfAny();
    const { config, sealed } = storedCredentials(deps.vault, former.id, credentials);
    const description = request.description === undefined ? former.description : (request.description ?? '');
    const fields = [request.name, description, request.kind, url, request.skip_tls_verification, JSON.stringify(config), sealed];
    return refuseTaken(request.name, () => tx.one(store.helmRepositoryEdit, [former.id, ...fields]));
  });
}

/** Fails with NOT_FOUND, or with IN_USE while a service uses the repository. */
export async function deleteHelmRepository(deps: Needs<'database'>, caller: Caller, ids: HelmRepositoryIds): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const row = await tx.maybe(store.helmRepositoryLock, pathValues(caller, ids));
    if (row === undefined) throw notFound('Helm repository');
    await refuseUsed(tx, 'helmRepository', { id: row.id, noun: 'Helm repository' });
    await tx.run(store.helmRepositoryDelete, [row.id]);
  });
}

export async function listAssociatedServices(
  deps: Needs<'database'>,
  caller: Caller,
  ids: HelmRepositoryIds,
): Promise<Associated> {
  const { id } = await readHelmRepository(deps, caller, ids);
  const uses = await readUses(deps.database, 'helmRepository', id);
  return { results: uses.map((use) => toAssociatedService(use, ['HELM'])) };
}

export function pathValues(caller: Caller, ids: HelmRepositoryIds): unknown[] {
  return [ids.organizationId, caller.organizationId, ids.helmRepositoryId];
}

function refuseTaken<Result>(name: string, write: () => Promise<Result>): Promise<Result> {
  const taken = { index: 'helm_repository_name', noun: 'Helm repository', name, where: 'in this organization' };
  return refuseTakenName(taken, write);
}
