import { randomBytes, randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import {
  roleDescriptions,
  type Body,
  type BuiltInRole,
  type operations,
  type Query,
  type Response,
  type Scope,
} from '@davit/contract';
import { isForeignKeyViolation, type Database } from '@davit/db';
import { tokenHash } from '../../auth/authenticator.ts';
import { notFound } from '../../auth/authorize.ts';
import { isOwner, type Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { readOrganization } from '../organization/index.ts';
import { findRole, roleIdOf, roleNameOf, type RoleReference } from '../role/index.ts';
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

/** Returns the value of a new API token. */
export function newToken(): string {
  return `${tokenPrefix}${randomBytes(tokenBytes).toString('base64url')}`;
}

export async function listTokens(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  query: ListQuery,
): Promise<Listed> {
  await readOrganization(deps, caller, organizationId);
  const rows = await deps.database.many(store.tokenList, [organizationId, query.name ?? null, query.creatorName ?? null]);
  return { results: rows.map(toRecord) };
}

/**
 * Creates a token. Only this response contains its value. Without a scope or role the token has the rights of its
 * creator. If the creator has all rights, the scope is ADMIN, as the public description has no higher one.
 */
export async function createToken(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  request: CreateRequest,
): Promise<Created> {
  const expiresAt = request.expires_at ?? null;
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) throw invalid('expires_at', 'must be in the future');
  await readOrganization(deps, caller, organizationId);
  const rights = await rightsOfNew(deps, caller, organizationId, request);
  const token = newToken();
  const taken = { index: 'api_token_name', noun: 'token', name: request.name, where: 'in this organization' };
  const row = await refuseTakenName(taken, () =>
    deps.database.maybe(store.tokenCreate, [
      randomUUID(),
      organizationId,
      caller.organizationId,
      request.name,
      request.description ?? '',
      rights.scope,
      tokenHash(token),
      expiresAt,
      caller.name,
      rights.role,
      rights.custom_role_id,
    ]),
  ).catch((error: unknown) => {
    if (!isForeignKeyViolation(error)) throw error;
    // The role or the organization was deleted concurrently.
    throw rights.custom_role_id === null ? notFound('organization') : unknownRole();
  });
  if (row === undefined) throw notFound('organization');
  return { ...toRecord(row), token };
}

interface Rights extends RoleReference {
  readonly scope: Scope | null;
}

/**
 * Returns the rights of a new token. They never exceed the caller's: a token must not give users rights that they do
 * not have.
 */
async function rightsOfNew(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  request: CreateRequest,
): Promise<Rights> {
  const own = caller.access.kind === 'role' && !isOwner(caller) ? caller.access.role : null;
  const roleId = request.role_id ?? null;
  const scope = request.scope ?? null;
  if (roleId === null) {
    if (own === null || (scope !== null && scope !== 'ADMIN')) return { ...noRole, scope: scope ?? 'ADMIN' };
    // The scope ADMIN includes all rights of an Admin, without the rights that only owners have.
    if (own === 'ADMIN' || scope === null) return { ...noRole, role: own, scope: null };
    throw tooMuch('scope ADMIN', own);
  }
  if (scope !== null) throw invalid('role_id', 'must not be given beside scope; leave one of them out');
  const role = await findRole(deps.database, organizationId, roleId);
  if (role === undefined) throw unknownRole();
  const isMore = role.role === 'OWNER' || (role.role === 'ADMIN' && own !== 'ADMIN');
  if (own !== null && isMore) throw tooMuch(`the role ${roleNameOf(role)}`, own);
  return { ...role, scope: null };
}

const noRole: RoleReference = { role: null, custom_role_id: null, custom_role_name: null };

function unknownRole(): AppError {
  return invalidReference('role_id', 'is not a role of this organization; availableRole lists them');
}

function tooMuch(what: string, own: BuiltInRole): AppError {
  return new AppError({
    code: 'FORBIDDEN',
    message: `A token with ${what} may do more than your role ${roleDescriptions[own].name}. Choose that role or less, or the scope WRITE, DEPLOY or READ.`,
  });
}

export async function deleteToken(
  deps: Needs<'database' | 'tokens'>,
  caller: Caller,
  organizationId: string,
  id: string,
): Promise<void> {
  const count = await deps.database.run(store.tokenDelete, [id, organizationId, caller.organizationId]);
  if (count === 0) throw notFound('API token');
  deps.tokens.forget();
}

const roleNames: Readonly<Record<Scope, string>> = { READ: 'Read', DEPLOY: 'Deploy', WRITE: 'Write', ADMIN: 'Admin' };

function toRecord(row: store.TokenRow): Omit<Created, 'token'> {
  const { scope, role, custom_role_id, custom_role_name, ...fields } = row;
  if (scope !== null) return { ...fields, scope, role_name: roleNames[scope] };
  const reference = { role, custom_role_id, custom_role_name };
  return { ...fields, role_name: roleNameOf(reference), role_id: roleIdOf(reference) };
}

/** Creates a token of the instance administrator, which has all rights in every organization. */
export async function createAdminToken(database: Database, name: string, expiresAt: string | null): Promise<string> {
  const token = newToken();
  await database.one(store.adminTokenCreate, [randomUUID(), name, tokenHash(token), expiresAt, 'command line']);
  return token;
}

export function listAdminTokens(database: Database): Promise<store.TokenRow[]> {
  return database.many(store.adminTokenList);
}

/** Deletes tokens by id or name. Returns the number of deleted tokens. */
export function revokeAdminTokens(database: Database, idOrName: string): Promise<number> {
  return database.run(store.adminTokenDelete, [idOrName]);
}

/**
 * Creates the administrator's token at the first start: `given`, or a new one. Returns the token if it was created now,
 * otherwise null. A given token is restored at every start, as the user who configured it expects it to work.
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
