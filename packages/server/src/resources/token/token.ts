import { randomBytes, randomUUID } from 'node:crypto';
import type { Body, operations, Query, Response, Scope } from '@davit/contract';
import type { Database } from '@davit/db';
import { tokenHash } from '../../auth/authenticator.ts';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { readOrganization } from '../organization/index.ts';
import { refuseTakenName } from '../shared/naming.ts';
import { invalid, invalidReference } from '../shared/problems.ts';
import * as store from './store.ts';

type Created = Response<(typeof operations)['createOrganizationApiToken']>;
type CreateRequest = Body<(typeof operations)['createOrganizationApiToken']>;
type Listed = Response<(typeof operations)['listOrganizationApiTokens']>;
type ListQuery = Query<(typeof operations)['listOrganizationApiTokens']>;

const tokenPrefix = 'dvt_';
// 30 bytes are 40 characters of base64url.
const tokenBytes = 30;

export function newToken(): string {
  return `${tokenPrefix}${randomBytes(tokenBytes).toString('base64url')}`;
}

export async function listTokens(deps: Deps, caller: Caller, organizationId: string, query: ListQuery): Promise<Listed> {
  await readOrganization(deps, caller, organizationId);
  const rows = await deps.database.many(store.tokenList, [organizationId, query.name ?? null, query.creatorName ?? null]);
  return { results: rows.map(toRecord) };
}

/** Its value is in this answer only. Without a scope it may do everything, as the public description knows no other. */
export async function createToken(deps: Deps, caller: Caller, organizationId: string, request: CreateRequest): Promise<Created> {
  const expiresAt = request.expires_at ?? null;
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) throw invalid('expires_at', 'must lie in the future');
  if (request.role_id !== undefined && request.role_id !== null) {
    throw invalidReference('role_id', 'names no role; there are none. Set scope to ADMIN, WRITE, DEPLOY or READ instead');
  }
  const token = newToken();
  const taken = { index: 'api_token_name', noun: 'token', name: request.name, where: 'in this organization' };
  const row = await refuseTakenName(taken, () =>
    deps.database.maybe(store.tokenCreate, [
      randomUUID(),
      organizationId,
      caller.organizationId,
      request.name,
      request.description ?? '',
      request.scope ?? 'ADMIN',
      tokenHash(token),
      expiresAt,
      caller.name,
    ]),
  );
  if (row === undefined) throw notFound('organization');
  return { ...toRecord(row), token };
}

export async function deleteToken(deps: Deps, caller: Caller, organizationId: string, id: string): Promise<void> {
  const count = await deps.database.run(store.tokenDelete, [id, organizationId, caller.organizationId]);
  if (count === 0) throw notFound('API token');
  deps.tokens.forget();
}

const roleNames: Readonly<Record<Scope, string>> = { READ: 'Read', DEPLOY: 'Deploy', WRITE: 'Write', ADMIN: 'Admin' };

function toRecord(row: store.TokenRow): Omit<Created, 'token'> {
  return { ...row, role_name: roleNames[row.scope] };
}

/** Makes a token of the instance administrator, which may do everything in every organization. */
export async function createAdminToken(database: Database, name: string, expiresAt: string | null): Promise<string> {
  const token = newToken();
  await database.one(store.adminTokenCreate, [randomUUID(), name, tokenHash(token), expiresAt, 'command line']);
  return token;
}

export function listAdminTokens(database: Database): Promise<store.TokenRow[]> {
  return database.many(store.adminTokenList);
}

/** By id or name; how many are gone. */
export function revokeAdminTokens(database: Database, idOrName: string): Promise<number> {
  return database.run(store.adminTokenDelete, [idOrName]);
}

/**
 * At the first start, makes the administrator's token: `given`, or a new one. Returns it where it was made now, null later on.
 * A given token is made good at every start: whoever sets it wants it to work.
 */
export function ensureAdminToken(database: Database, given: string | null): Promise<string | null> {
  return database.transaction(async (tx) => {
    await tx.run(store.adminTokenLock);
    const before = await tx.many(store.adminTokenList);
    if (given === null && before.length > 0) return null;
    const token = given ?? newToken();
    const row = await tx.maybe(store.adminTokenCreate, [randomUUID(), 'admin', tokenHash(token), null, 'first start']);
    return row === undefined ? null : token;
  });
}
