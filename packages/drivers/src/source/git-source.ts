import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallContext } from '../driver.ts';
import type { Commit, GitSource, SourceDriver } from '../source-driver.ts';
import { DriverError } from '../errors.ts';
import { GitCheckout } from './git-checkout.ts';
import { openGit } from './git-command.ts';
import { gitFailure } from './git-failure.ts';
import { readChanges, readHistory } from './history.ts';
import { listHeads, listReferences, noSuchReference, type GitCall } from './references.ts';
import { isBranchName, parseRepository } from './repository-url.ts';

export interface GitSourceOptions {
  /** Paths and file URLs of this machine. They let whoever names them read it: only where everybody may. Default: false. */
  readonly allowLocalRepositories?: boolean;
  /** Limit of what a checkout may take on the disk. Default: 5 GB. */
  readonly maximumBytes?: number;
}

/** Sources by the `git` program, version 2.30 or later. */
export interface GitSourceDriver extends SourceDriver {
  /**
   * The id of the tree at `rootPath` in a commit: equal for all commits that leave this folder alone, so that a commit to
   * another folder of the repository needs no new build. Fetches the commit's folders, not its files. Null when the commit has
   * no such folder. Same failures as `checkout`.
   */
  treeOf(source: GitSource & { readonly commit: string }, rootPath: string, context: CallContext): Promise<string | null>;
}

const fullId = /^[0-9a-f]{40}$/i;
const abbreviatedId = /^[0-9a-f]{7,39}$/i;
/** Makes a source driver. It has no state: several may be used side by side. */
export function createGitSource(options: GitSourceOptions = {}): GitSourceDriver {
  const maximumBytes = options.maximumBytes ?? 5 * 1024 ** 3;
  const call = async <T>(source: GitSource, context: CallContext, action: (call: GitCall) => Promise<T>): Promise<T> => {
    const repository = parseRepository(source, options.allowLocalRepositories ?? false);
    if (source.branch !== undefined && !isBranchName(source.branch)) throw notABranch(source.branch);
    const git = await openGit(repository);
    try {
      return await action({ git, repository, source, signal: context.signal });
    } finally {
      await git.close();
    }
  };
  return {
    resolve: (source, context) => call(source, context, (git) => resolve(git)),
    checkout: (source, directory, context) =>
      call(source, context, async (git): Promise<Commit> => {
        await emptyFolder(directory);
        return new GitCheckout(git, directory, { maximumBytes, context }).checkout(idOf(source.commit));
      }),
    files: (source, wanted, context) =>
      call(source, context, (git) =>
        inScratchFolder((directory) =>
          new GitCheckout(git, directory, { maximumBytes, context }).files(idOf(source.commit), wanted),
        ),
      ),
    heads: (source, context) => call(source, context, (git) => listHeads(git)),
    changes: (source, wanted, context) =>
      call(source, context, (git) => inScratchFolder((directory) => readChanges(git, directory, wanted))),
    history: (source, limit, context) =>
      call(source, context, (git) => inScratchFolder((directory) => readHistory(git, directory, limit))),
    treeOf: (source, rootPath, context) =>
      call(source, context, (git) =>
        inScratchFolder((directory) =>
          new GitCheckout(git, directory, { maximumBytes, context }).treeOf(idOf(source.commit), rootPath),
        ),
      ),
  };
}

async function resolve(call: GitCall): Promise<string> {
  const { commit } = call.source;
  if (commit !== undefined && fullId.test(commit)) return commit.toLowerCase();
  if (commit !== undefined && !abbreviatedId.test(commit)) throw notACommit(commit);
  const references = await listReferences(call);
  if (commit !== undefined) return resolveAbbreviation(call, commit.toLowerCase(), references);
  const name = call.source.branch === undefined ? 'HEAD' : `refs/heads/${call.source.branch}`;
  const id = references.get(name);
  if (id === undefined) throw noSuchReference(call, references);
  return id;
}

async function resolveAbbreviation(call: GitCall, start: string, references: ReadonlyMap<string, string>): Promise<string> {
  const tips = new Set([...references.values()].filter((id) => id.startsWith(start)));
  if (tips.size === 1) return [...tips][0]!;
  return inScratchFolder(async (directory) => {
    const { git, repository, source, signal } = call;
    const branches = source.branch === undefined ? '+refs/heads/*:refs/heads/*' : `+refs/heads/${source.branch}:refs/heads/found`;
    await git.run(['init', '--quiet', '--bare', directory], { signal });
    // Commits without folders and files. A host that cannot filter sends all, which is slower and as good.
    const fetched = await git.run(
      ['-C', directory, 'fetch', '--no-tags', '--progress', '--filter=tree:0', '--', repository.url, branches],
      { signal },
    );
    if (fetched.code !== 0) {
      if (/couldn't find remote ref/.test(fetched.stderr)) throw noSuchReference(call, references);
      throw gitFailure(fetched, repository);
    }
    const found = await git.run(['-C', directory, 'rev-parse', '--quiet', '--verify', `${start}^{commit}`], { signal });
    if (found.code === 0) return found.stdout.trim();
    throw noSuchReference(call, references);
  });
}

function idOf(commit: string): string {
  if (!fullId.test(commit) && !abbreviatedId.test(commit)) throw notACommit(commit);
  return commit.toLowerCase();
}

function notACommit(commit: string): DriverError {
  return new DriverError({
    cause: 'GIT_REFERENCE_NOT_FOUND',
    message: `${JSON.stringify(commit)} is not a commit id: 7 to 40 hexadecimal digits are.`,
  });
}

function notABranch(branch: string): DriverError {
  return new DriverError({
    cause: 'GIT_REFERENCE_NOT_FOUND',
    message: `${JSON.stringify(branch)} is not a valid name of a branch.`,
  });
}

async function emptyFolder(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
}

async function inScratchFolder<T>(action: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'davit-git-'));
  try {
    return await action(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
