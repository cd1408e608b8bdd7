import { randomUUID } from 'node:crypto';
import type { CredentialProvider, operations, Response } from '@davit/contract';
import { isForeignKeyViolation, type Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { readOrganization } from '../organization/index.ts';
import { inUse, refuseTakenName } from '../shared/naming.ts';
import type { CredentialsSpec, StoredCredentials } from './kinds.ts';
import * as store from './store.ts';

type Credentials = Response<(typeof operations)['getAWSCredentials']>;
type CredentialsList = Response<(typeof operations)['listAWSCredentials']>;
type AllCredentials = Response<(typeof operations)['listOrganizationCredentials']>;

/** The organization and the provider that credentials belong to. */
export interface Owner {
  readonly organizationId: string;
  readonly provider: CredentialProvider;
}

export interface CredentialsIds extends Owner {
  readonly credentialsId: string;
}

export async function listCredentials(deps: Needs<'database'>, caller: Caller, owner: Owner): Promise<CredentialsList> {
  await readOrganization(deps, caller, owner.organizationId);
  const rows = await deps.database.many(store.credentialsList, [owner.organizationId, caller.organizationId, owner.provider]);
  return { results: rows.map(toRecord) };
}

export async function listAllCredentials(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
): Promise<AllCredentials> {
  await readOrganization(deps, caller, organizationId);
  const rows = await deps.database.many(store.credentialsListWithClusters, [organizationId, caller.organizationId]);
  return { results: rows.map(({ clusters, ...row }) => ({ credential: toRecord(row), clusters: [...clusters] })) };
}

/** Stores credentials and seals their secrets. They are not tried at the vendor. Fails with NAME_TAKEN. */
export async function createCredentials(
  deps: Needs<'database' | 'vault'>,
  caller: Caller,
  owner: Owner,
  spec: CredentialsSpec,
): Promise<Credentials> {
  const id = randomUUID();
  const row = await refuseTaken(spec.name, () =>
    deps.database.maybe(store.credentialsCreate, [
      owner.organizationId,
      caller.organizationId,
      owner.provider,
      id,
      spec.objectType,
      spec.name,
      JSON.stringify(spec.fields),
      seal(deps, id, spec),
    ]),
  );
  if (row === undefined) throw notFound('organization');
  return toRecord(row);
}

export async function readCredentials(deps: Needs<'database'>, caller: Caller, ids: CredentialsIds): Promise<Credentials> {
  const row = await deps.database.maybe(store.credentialsRead, [...visible(caller, ids), ids.credentialsId]);
  if (row === undefined) throw notFound('cloud credentials');
  return toRecord(row);
}

/**
 * Changes credentials. `toSpec` receives the stored credentials, so that secrets which the request omits stay. Fails
 * with NAME_TAKEN.
 */
export async function editCredentials(
  deps: Needs<'database' | 'vault'>,
  caller: Caller,
  ids: CredentialsIds,
  { name, toSpec }: { readonly name: string; readonly toSpec: (stored: StoredCredentials) => CredentialsSpec },
): Promise<Credentials> {
  const row = await refuseTaken(name, () =>
    deps.database.transaction(async (tx) => {
      const row = await tx.maybe(store.credentialsLock, [...visible(caller, ids), ids.credentialsId]);
      if (row === undefined) throw notFound('cloud credentials');
      const spec = toSpec({ objectType: row.object_type, fields: row.fields, secrets: unseal(deps, row) });
      return tx.one(store.credentialsEdit, [
        row.id,
        spec.objectType,
        spec.name,
        JSON.stringify(spec.fields),
        seal(deps, row.id, spec),
      ]);
    }),
  );
  return toRecord(row);
}

export async function deleteCredentials(deps: Needs<'database'>, caller: Caller, ids: CredentialsIds): Promise<void> {
  if ((await removed(deps, caller, ids)) > 0) return;
  await readCredentials(deps, caller, ids);
  const names = (await deps.database.many(store.credentialsUsers, [ids.credentialsId])).map(({ name }) => name);
  if (names.length > 0) throw inUse('The credentials', { noun: 'the clusters', names });
  // The last user of the credentials was removed between the two statements.
  await deleteCredentials(deps, caller, ids);
}

async function removed(deps: Needs<'database'>, caller: Caller, ids: CredentialsIds): Promise<number> {
  try {
    return await deps.database.run(store.credentialsDelete, [...visible(caller, ids), ids.credentialsId]);
  } catch (error) {
    // A cluster started to use the credentials at the same moment.
    if (!isForeignKeyViolation(error)) throw error;
    return 0;
  }
}

/** Returns credentials that a cluster of the organization may refer to, or null if there are none with that id. */
export async function findCredentials(
  database: Queryable,
  organizationId: string,
  id: string,
): Promise<{ readonly id: string; readonly name: string; readonly provider: CredentialProvider } | null> {
  return (await database.maybe(store.credentialsOfOrganization, [organizationId, id])) ?? null;
}

function visible(caller: Caller, owner: Owner): [string, string | null, CredentialProvider] {
  return [owner.organizationId, caller.organizationId, owner.provider];
}

function seal(deps: Needs<'vault'>, id: string, { secrets }: CredentialsSpec): Buffer | null {
  return Object.keys(secrets).length === 0 ? null : deps.vault.seal(id, JSON.stringify(secrets));
}

function unseal(deps: Needs<'vault'>, row: { readonly id: string; readonly sealed: Buffer | null }): Record<string, string> {
  if (row.sealed === null) return {};
  const secrets: Record<string, string> = JSON.parse(deps.vault.open(row.id, row.sealed));
  return secrets;
}

function refuseTaken<Result>(name: string, write: () => Promise<Result>): Promise<Result> {
  const where = 'for this vendor in this organization';
  return refuseTakenName({ index: 'cloud_credentials_name', noun: 'set of credentials', name, where }, write);
}

function toRecord({ id, name, object_type, fields }: store.CredentialsRow): Credentials {
  // The contract requires this field for all credentials. It is empty for an account without keys.
  return { id, name, object_type, ...(object_type === 'OTHER' && { access_key_id: '' }), ...fields };
}
