import { randomUUID } from 'node:crypto';
import { hasControlCharacter, ownRepositoryId } from '@davit/base';
import type { GitProvider } from '@davit/contract';
import type { Problems } from '../../shared/problems.ts';
import { leavesRoot } from '../../shared/problems.ts';
import type { GitRepositoryRequest } from './request.ts';

/** Location of the source, as stored. `branch` null: the repository's default branch. */
export interface GitRepositorySpec {
  readonly provider: GitProvider;
  readonly owner: string;
  readonly url: string;
  readonly name: string;
  readonly branch: string | null;
  readonly root_path: string;
  readonly git_token_id: string | null;
}

/** Hosts of the providers that the contract names neutrally. */
const providerHosts: Readonly<Record<string, GitProvider>> = {
  'github.com': 'HOSTA',
  'gitlab.com': 'HOSTB',
  'bitbucket.org': 'HOSTC',
};

/** The facts that a repository of a request is checked against. */
export interface RepositoryRules {
  readonly problems: Problems;
  readonly allowLocal: boolean;
  /** Path of the repository in the request, for the paths of problems. Default: `git_repository`. */
  readonly at?: string;
}

/**
 * Returns the repository of a request. If an edit keeps the url, omitted members stay. With another url they are reset:
 * the token of one repository must not be sent to the host of another.
 */
export function toGitRepository(
  request: GitRepositoryRequest,
  former: GitRepositorySpec | null,
  { problems, allowLocal, at = 'git_repository' }: RepositoryRules,
): GitRepositorySpec {
  const url = ownUrl(request.url, former);
  const before = former?.url === url ? former : null;
  const repository = ownRepositoryId(url) === null ? readUrl(url, { problems, allowLocal, at }) : kept;
  const branch = request.branch === undefined ? (before?.branch ?? null) : request.branch;
  if (branch !== null && !isBranchName(branch)) {
    problems.add(`${at}.branch`, 'is not a name that git accepts for a branch (see git check-ref-format)');
  }
  const rootPath = request.root_path === undefined ? (before?.root_path ?? '/') : (request.root_path ?? '/');
  if (leavesRoot(rootPath) || hasControlCharacter(rootPath)) {
    problems.add(`${at}.root_path`, 'must be a folder inside the repository, without .. and control characters');
  }
  return {
    provider: request.provider ?? before?.provider ?? repository.provider,
    owner: repository.owner,
    url,
    name: repository.name,
    branch,
    root_path: `/${rootPath
      .split('/')
      .filter((segment) => segment !== '' && segment !== '.')
      .join('/')}`,
    git_token_id: request.git_token_id === undefined ? (before?.git_token_id ?? null) : request.git_token_id,
  };
}

/** A repository that this installation keeps itself. */
const kept: RepositoryName = { provider: 'GENERIC', owner: '', name: '' };

/**
 * Returns the URL to store. `davit:` names a repository that this installation keeps for the service: the one that it
 * has, or a new one. The id of a repository is accepted only from the record that has it, since it opens the
 * repository.
 */
function ownUrl(url: string, former: GitRepositorySpec | null): string {
  if (url !== 'davit:') return url === former?.url || ownRepositoryId(url) === null ? url : 'davit:of-another-service';
  return former !== null && ownRepositoryId(former.url) !== null ? former.url : `davit:${randomUUID()}`;
}

interface RepositoryName {
  readonly provider: GitProvider;
  readonly owner: string;
  readonly name: string;
}

function readUrl(url: string, { problems, allowLocal, at }: Required<RepositoryRules>): RepositoryName {
  const path = `${at}.url`;
  const nowhere: RepositoryName = { provider: 'GENERIC', owner: '', name: '' };
  if (hasControlCharacter(url) || url.startsWith('-') || url !== url.trim()) {
    problems.add(
      path,
      'must be a URL such as https://git.example.org/owner/name.git, without blanks around it or control characters',
    );
    return nowhere;
  }
  if (url.startsWith('/') || url.startsWith('file:')) return readLocal(url, { problems, allowLocal, at });
  if (url.startsWith('davit:')) {
    problems.add(path, 'names the repository of another service; use davit: for one of this service, and push to it');
    return nowhere;
  }
  const parsed = /^https?:\/\//i.test(url) && URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || /[\s\\]/.test(url)) {
    problems.add(
      path,
      'must be an http or https URL such as https://git.example.org/owner/name.git; ssh is not supported, use a git token',
    );
    return nowhere;
  }
  // The message does not quote the url, which may contain a password.
  if (parsed.username !== '' || parsed.password !== '' || /^https?:\/\/[^/]*@/i.test(url)) {
    problems.add(path, `must not contain credentials; create a git token and name it in ${at}.git_token_id`);
    return nowhere;
  }
  if (parsed.search !== '' || parsed.hash !== '')
    problems.add(path, `must not have a query or fragment; use ${at}.branch for a branch`);
  const ids = ownerAndName(parsed.pathname);
  if (ids.name === '') problems.add(path, 'must name a repository, as in https://git.example.org/owner/name.git');
  return { provider: providerHosts[parsed.hostname.replace(/^www\./, '')] ?? 'GENERIC', ...ids };
}

function readLocal(url: string, { problems, allowLocal, at }: Required<RepositoryRules>): RepositoryName {
  const path = `${at}.url`;
  const local = url.startsWith('file:') ? (URL.canParse(url) ? new URL(url) : null) : new URL(`file://${encodeURI(url)}`);
  const ids = ownerAndName(local === null ? '' : local.pathname);
  if (!allowLocal) {
    problems.add(
      path,
      'is a path of this machine, which is not allowed; use an http or https URL, or have the operator set DAVIT_ALLOW_LOCAL_REPOSITORIES=true',
    );
  } else if (local === null || (local.host !== '' && local.host !== 'localhost') || ids.name === '' || leavesRoot(url)) {
    problems.add(path, 'must be an absolute path or a URL such as file:///srv/repositories/name, without ..');
  }
  return { provider: 'GENERIC', ...ids };
}

/**
 * Returns the last segment as the repository's name and the segments before it as the owner. A group may have several
 * segments.
 */
function ownerAndName(pathname: string): { readonly owner: string; readonly name: string } {
  const segments = pathname
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded);
  return { owner: segments.slice(0, -1).join('/'), name: (segments.at(-1) ?? '').replace(/\.git$/, '') };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A lone % is a legal character of a path and stands for itself.
    return segment;
  }
}

/** Returns whether a name follows the rules of `git check-ref-format --branch` (git 2.39). */
export function isBranchName(name: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (name === '' || name === '@' || name.startsWith('-') || /[\u0000-\u0020\u007f~^:?*[\\]/.test(name)) return false;
  if (name.includes('..') || name.includes('@{') || name.endsWith('.') || name === 'HEAD') return false;
  return name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

/** Returns a path without redundant parts: `./a//b/` becomes `a/b`. */
export function plainPath(path: string): string {
  return path
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/');
}
