import { randomUUID } from 'node:crypto';
import type { Body, GitProvider, operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { gitApiUrls, gitHosts } from '../../vendors.ts';
import { readOrganization } from '../organization/index.ts';
import { readUses, toAssociatedService } from '../service-use/index.ts';
import { inUse, refuseTakenName } from '../shared/naming.ts';
import { invalid } from '../shared/problems.ts';
import * as store from './store.ts';

type GitToken = Response<(typeof operations)['getOrganizationGitToken']>;
type GitTokens = Response<(typeof operations)['listOrganizationGitTokens']>;
type Associated = Response<(typeof operations)['getGitTokenAssociatedServices']>;
type CreateRequest = Body<(typeof operations)['createGitToken']>;
type EditRequest = Body<(typeof operations)['editGitToken']>;

/** The id of a record and the organization that it belongs to. */
export interface GitTokenIds {
  readonly organizationId: string;
  readonly gitTokenId: string;
}

export async function listGitTokens(deps: Needs<'database'>, caller: Caller, organizationId: string): Promise<GitTokens> {
  await readOrganization(deps, caller, organizationId);
  const rows = await deps.database.many(store.gitTokenList, [organizationId, caller.organizationId]);
  return { results: rows.map(toRecord) };
}

export async function createGitToken(
  deps: Needs<'database' | 'vault'>,
  caller: Caller,
  organizationId: string,
  request: CreateRequest,
): Promise<GitToken> {
  const id = randomUUID();
  const row = await refuseTaken(request.name, () =>
    deps.database.maybe(store.gitTokenCreate, [
      organizationId,
      caller.organizationId,
      id,
      request.name,
      request.description ?? '',
      request.type,
      request.workspace ?? null,
      request.git_api_url ?? null,
      deps.vault.seal(id, request.token),
    ]),
  );
  if (row === undefined) throw notFound('organization');
  return toRecord(row);
}

export async function readGitToken(deps: Needs<'database'>, caller: Caller, ids: GitTokenIds): Promise<GitToken> {
  const row = await deps.database.maybe(store.gitTokenRead, [ids.organizationId, caller.organizationId, ids.gitTokenId]);
  if (row === undefined) throw notFound('git token');
  return toRecord(row);
}

/**
 * Edits a token. `basePath`: the path of a vocabulary; null: none. Its clients may know GENERIC by the word of another
 * host, so a generic token stays one as long as its URL does.
 */
export async function editGitToken(
  deps: Needs<'database' | 'vault'>,
  caller: Caller,
  { basePath, ...ids }: GitTokenIds & { readonly basePath: string | null },
  request: EditRequest,
): Promise<GitToken> {
  const { token, ...fields } = request;
  const row = await refuseTaken(request.name, () =>
    deps.database.maybe(store.gitTokenEdit, [
      ids.organizationId,
      caller.organizationId,
      ids.gitTokenId,
      request.name,
      request.type,
      JSON.stringify(fields),
      token === undefined ? null : deps.vault.seal(ids.gitTokenId, token),
      gitApiUrls[request.type],
      basePath !== null,
    ]),
  );
  if (row !== undefined) return toRecord(row);
  await readGitToken(deps, caller, ids);
  throw invalid('token', 'must be sent again because type or git_api_url changes: a stored token is never sent to another host');
}

export async function deleteGitToken(deps: Needs<'database'>, caller: Caller, ids: GitTokenIds): Promise<void> {
  const count = await deps.database.run(store.gitTokenDelete, [ids.organizationId, caller.organizationId, ids.gitTokenId]);
  if (count > 0) return;
  await readGitToken(deps, caller, ids);
  const names = (await readUses(deps.database, 'gitToken', ids.gitTokenId)).map(({ service_name }) => service_name);
  if (names.length > 0) throw inUse('The git token', { noun: 'the services', names });
  const clusters = (await deps.database.many(store.gitTokenClusters, [ids.gitTokenId])).map(({ name }) => name);
  if (clusters.length > 0) throw inUse('The git token', { noun: 'the clusters', names: clusters });
  // The last user of the token was removed between the two statements.
  await deleteGitToken(deps, caller, ids);
}

export async function listGitTokenServices(deps: Needs<'database'>, caller: Caller, ids: GitTokenIds): Promise<Associated> {
  const { id } = await readGitToken(deps, caller, ids);
  const uses = await readUses(deps.database, 'gitToken', id);
  return { results: uses.map((use) => toAssociatedService(use, ['APPLICATION', 'CRON', 'LIFECYCLE', 'HELM', 'TERRAFORM'])) };
}

/** Returns whether the organization has the token. The token cannot be deleted before the transaction ends. */
export async function shareGitToken(tx: Queryable, organizationId: string, id: string): Promise<boolean> {
  return (await tx.maybe(store.gitTokenShare, [organizationId, id])) !== undefined;
}

/** The user names with which the git hosts accept a token as a password. */
const users: Readonly<Record<GitProvider, string>> = {
  HOSTA: 'x-access-token',
  HOSTB: 'oauth2',
  HOSTC: 'x-token-auth',
  GENERIC: 'git',
};

/**
 * Returns the user name, the token and the hosts that the token may be sent to. Null if the token no longer exists. The
 * `workspace` of a generic host is the user name. `url`: the repository that the token is used for. It determines the
 * host of a token that has none yet.
 */
export async function gitCredentials(
  { database, vault }: Needs<'database' | 'vault'>,
  gitTokenId: string,
  url: string | null,
): Promise<{ username: string; password: string; hosts: readonly string[] } | null> {
  const row = await database.maybe(store.gitTokenSealed, [gitTokenId]);
  if (row === undefined) return null;
  const username = row.type === 'GENERIC' && row.workspace !== null ? row.workspace : users[row.type];
  const known = hostsOf(row);
  const used = url !== null && URL.canParse(url) ? new URL(url).hostname : '';
  const bound = known.length > 0 || used === '' ? undefined : await database.maybe(store.gitTokenBind, [gitTokenId, used]);
  return { username, password: vault.open(gitTokenId, row.sealed), hosts: bound?.hosts ?? known };
}

/**
 * Returns the hosts that a token may be sent to: the host of its API, under the name that repositories have there. If
 * the API is unknown, these are the hosts that the token was used with.
 */
function hostsOf({
  type,
  git_api_url: url,
  hosts,
}: Pick<store.SealedToken, 'type' | 'git_api_url' | 'hosts'>): readonly string[] {
  const api = url === null || url === '' ? gitApiUrls[type] : url;
  if (type !== 'GENERIC' && api === gitApiUrls[type]) return [gitHosts[type]];
  if (!URL.canParse(api)) return hosts;
  const { hostname } = new URL(api);
  return [...new Set([hostname, hostname.replace(/^api\./, '')])];
}

/** Returns a git token with the URL of its API. Null if the token no longer exists. */
export async function gitToken(
  { database, vault }: Needs<'database' | 'vault'>,
  id: string,
): Promise<{ readonly type: GitProvider; readonly apiUrl: string; readonly value: string } | null> {
  const row = await database.maybe(store.gitTokenSealed, [id]);
  if (row === undefined) return null;
  return { type: row.type, apiUrl: row.git_api_url || gitApiUrls[row.type], value: vault.open(id, row.sealed) };
}

function refuseTaken<Result>(name: string, write: () => Promise<Result>): Promise<Result> {
  return refuseTakenName({ index: 'git_token_name', noun: 'git token', name, where: 'in this organization' }, write);
}

function toRecord({ workspace, git_api_url, ...row }: store.GitTokenRow): GitToken {
  return {
    ...row,
    git_api_url: git_api_url === null || git_api_url === '' ? gitApiUrls[row.type] : git_api_url,
    ...(workspace === null ? {} : { workspace }),
  };
}
