import type { GitSource, Heads } from '../source-driver.ts';
import { DriverError } from '../errors.ts';
import type { Git, GitOptions } from './git-command.ts';
import { gitFailure } from './git-failure.ts';
import type { Repository } from './repository-url.ts';

/** Objects that the steps of one call share. */
export interface GitCall {
  readonly git: Git;
  readonly repository: Repository;
  readonly source: GitSource;
  readonly signal: AbortSignal;
}

/**
 * Fetches the whole history. Unlike an absent depth, this makes git reject a host that only serves static files (git
 * would request their objects one by one).
 */
export const wholeDepth = '--depth=2147483647';

// A list of references is one small response: a host that takes longer counts as unreachable.
const listing: Pick<GitOptions, 'idleMilliseconds'> = { idleMilliseconds: 45_000 };

/** Returns all branches and HEAD, by full name. */
export async function listReferences(call: GitCall): Promise<ReadonlyMap<string, string>> {
  const patterns = ['HEAD', 'refs/heads/*'];
  const result = await call.git.run(['ls-remote', '--', call.repository.url, ...patterns], { signal: call.signal, ...listing });
  if (result.code !== 0) throw gitFailure(result, call.repository);
  return new Map(
    result.stdout.split('\n').flatMap((line): [string, string][] => {
      const [id, name] = line.split('\t');
      return id !== undefined && name !== undefined ? [[name, id]] : [];
    }),
  );
}

/** Returns the branches with their newest commits, and the default branch of the repository; null if it names none. */
export async function listHeads(call: GitCall): Promise<Heads> {
  const patterns = ['HEAD', 'refs/heads/*'];
  const args = ['ls-remote', '--symref', '--', call.repository.url, ...patterns];
  const result = await call.git.run(args, { signal: call.signal, ...listing });
  if (result.code !== 0) throw gitFailure(result, call.repository);
  const branches = new Map<string, string>();
  let defaultBranch: string | null = null;
  for (const line of result.stdout.split('\n')) {
    const [id = '', name = ''] = line.split('\t');
    if (name === 'HEAD' && id.startsWith('ref: refs/heads/')) defaultBranch = id.slice(16);
    else if (name.startsWith('refs/heads/')) branches.set(name.slice(11), id);
  }
  return { defaultBranch, branches };
}

/**
 * Returns the names of tags, annotated or not, by the commit that they point at. Failing to list them is not an error:
 * tags are only decoration.
 */
export async function listTags({ git, repository, signal }: GitCall): Promise<ReadonlyMap<string, string>> {
  const result = await git.run(['ls-remote', '--tags', '--', repository.url], { signal, ...listing });
  const tags = new Map<string, string>();
  for (const line of result.code === 0 ? result.stdout.split('\n') : []) {
    const [id, name] = line.split('\t');
    if (id && name) tags.set(id, name.replace(/^refs\/tags\//, '').replace(/\^\{\}$/, ''));
  }
  return tags;
}

/** Returns the failure with the reference that was requested and the branches that exist. */
export function noSuchReference(call: GitCall, references: ReadonlyMap<string, string>): DriverError {
  const { branch, commit } = call.source;
  const branches = [...references.keys()].filter((name) => name.startsWith('refs/heads/')).map((name) => name.slice(11));
  const wanted =
    commit !== undefined
      ? `commit ${commit}${branch === undefined ? '' : ` (branch ${branch})`}`
      : branch === undefined
        ? 'default branch'
        : `branch ${branch}`;
  const first = branches.slice(0, 10).join(', ');
  const there =
    branches.length === 0
      ? 'It has no branches yet.'
      : `Its branches: ${first}${branches.length > 10 ? `, and ${branches.length - 10} more` : ''}.`;
  return new DriverError({
    cause: 'GIT_REFERENCE_NOT_FOUND',
    message: `The git repository ${call.repository.url} has no ${wanted}. ${there}`,
  });
}
