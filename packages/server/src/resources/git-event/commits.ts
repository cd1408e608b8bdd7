import type { GitProvider, operations, Response } from '@davit/contract';
import type { HistoryCommit } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { toSourceError } from '../source-check/index.ts';
import { notFound } from '../shared/problems.ts';
import * as store from './store.ts';

type Commits = Response<(typeof operations)['listApplicationCommit']>;
type Contributors = Response<(typeof operations)['listApplicationContributor']>;

// Number of listed commits. Nobody looks through more to choose one.
const listed = 100;
const contributing = 1000;

/** Selects the commits of a repository of a service. */
export interface CommitsOf {
  readonly id: string;
  readonly type: string;
  /** For a Helm chart: whether to use the repository of its values instead of its own. */
  readonly ofValues?: boolean;
  /** The beginning of a commit id: of the newest commit to list, or of the only one to return. */
  readonly startId?: string | undefined;
  readonly onlyId?: string | undefined;
}

/**
 * Returns the newest commits of the branch. Empty if the service has no repository. Fails with SOURCE_NOT_USABLE or
 * NOT_FOUND.
 */
export async function listCommits(deps: Needs<'database' | 'engine'>, caller: Caller, wanted: CommitsOf): Promise<Commits> {
  const found = await readHistory(deps, caller, wanted, listed);
  if (found === null) return { results: [] };
  const { onlyId, startId } = wanted;
  const isAt = (commit: HistoryCommit, id: string): boolean => commit.id.startsWith(id.toLowerCase());
  let { commits } = found;
  if (startId !== undefined) {
    const first = commits.findIndex((commit) => isAt(commit, startId));
    commits = first < 0 ? [] : commits.slice(first);
  }
  if (onlyId !== undefined) commits = commits.filter((commit) => isAt(commit, onlyId));
  return {
    results: commits.map((commit) => {
      const page = commitPage(found.repository, commit.id);
      return {
        created_at: commit.createdAt,
        git_commit_id: commit.id,
        tag: commit.tag,
        message: commit.message,
        author_name: commit.authorName,
        ...(page === null ? {} : { commit_page_url: page }),
      };
    }),
  };
}

/**
 * Returns each author's address once, the latest author first. Names are not split into parts, because the parts of a
 * name differ between cultures.
 */
export async function listContributors(deps: Needs<'database' | 'engine'>, caller: Caller, id: string): Promise<Contributors> {
  const found = await readHistory(deps, caller, { id, type: 'APPLICATION' }, contributing);
  const byAddress = new Map<string, HistoryCommit>();
  for (const commit of found?.commits ?? []) {
    const address = commit.authorEmail.toLowerCase();
    if (!byAddress.has(address)) byAddress.set(address, commit);
  }
  return {
    results: [...byAddress.values()].map(({ authorName, authorEmail }) => ({ first_name: authorName, email: authorEmail })),
  };
}

interface History {
  readonly repository: store.SourceRow;
  readonly commits: readonly HistoryCommit[];
}

async function readHistory(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  wanted: CommitsOf,
  limit: number,
): Promise<History | null> {
  const values = [wanted.id, wanted.type, caller.organizationId, wanted.ofValues ?? false];
  const repository = await deps.database.maybe(store.sourceOfService, values);
  if (repository === undefined) throw notFound('service');
  const { url, branch, git_token_id: gitTokenId, driver } = repository;
  if (url === null) return null;
  const answer = await deps.engine.source.history({ driver, url, branch, gitTokenId, limit });
  if ('failure' in answer) throw toSourceError(answer.failure);
  return { repository, commits: answer.commits };
}

const pages: Readonly<Record<GitProvider, string | null>> = {
  HOSTA: '/commit/',
  HOSTB: '/-/commit/',
  HOSTC: '/commits/',
  GENERIC: null,
};

/** Returns the web page of a commit. Null if Davit does not know the URLs of such a server. */
function commitPage({ url, provider }: store.SourceRow, id: string): string | null {
  const segment = provider === null ? null : pages[provider];
  return segment === null || url === null ? null : `${url.replace(/(\.git)?\/*$/, '')}${segment}${id}`;
}
