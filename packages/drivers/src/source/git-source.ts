import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownRepositoryId } from '@davit/base';
import type { CallContext } from '../driver.ts';
import type { Commit, GitSource, KeptSources, SourceDriver } from '../source-driver.ts';
import { DriverError } from '../errors.ts';
import { GitCheckout } from './git-checkout.ts';
import { openGit } from './git-command.ts';
import { gitFailure, notAllowed } from './git-failure.ts';
import { GitProxy, refusedAddress, type MayReach } from './git-proxy.ts';
import { defaultLimits, type GitLimits } from './git-watch.ts';
import { readChanges, readHistory } from './history.ts';
import { KeptObjects, type KeptOptions } from './kept-objects.ts';
import { listHeads, listReferences, noSuchReference, wholeDepth, type GitCall } from './references.ts';
import { isBranchName, parseRepository, type Repository } from './repository-url.ts';

export interface GitSourceOptions {
  /**
   * Allows paths and file URLs of this machine. Every user who can name a path can then read it, so allow this only
   * where everybody may. Default: false.
   */
  readonly allowLocalRepositories?: boolean;
  /** Limit of the disk space of a checkout, in bytes. Default: 5 GB. */
  readonly maximumBytes?: number;
  /**
   * Which addresses may receive credentials without TLS. Default: only those of this machine. A name that also resolves
   * to other addresses gets no credentials.
   */
  readonly mayReadPlainly?: MayReach;
  /** Which addresses git may connect to, also for redirects and submodules. Default: all. */
  readonly mayReach?: MayReach;
  /** Limits of each git command, except the disk. */
  readonly limits?: Partial<Omit<GitLimits, 'diskBytes'>>;
  /** Folder of the repositories that this installation keeps itself. Default: there are none. */
  readonly ownRepositories?: string;
  /** Where objects are kept between checkouts, and how much. Default: nothing is kept. */
  readonly kept?: KeptOptions;
}

/** Sources fetched by the `git` program, version 2.30 or later. */
export interface GitSourceDriver extends SourceDriver {
  /**
   * Returns the id of the tree at `rootPath` in a commit; null if the commit has no such folder. The id is equal for
   * all commits that do not change this folder, so a commit to another folder of the repository needs no new build.
   * Fetches the commit's folders, not its files. Fails as `checkout` does.
   */
  treeOf(source: GitSource & { readonly commit: string }, rootPath: string, context: CallContext): Promise<string | null>;
}

const fullId = /^[0-9a-f]{40}$/i;
const abbreviatedId = /^[0-9a-f]{7,39}$/i;

/** Creates a source driver. Several may be used at the same time, also with the same folder for kept objects. */
export function createGitSource(options: GitSourceOptions = {}): GitSourceDriver {
  const maximumBytes = options.maximumBytes ?? defaultLimits.diskBytes;
  const limits = { ...defaultLimits, ...options.limits, diskBytes: maximumBytes };
  // If the operator configured a proxy, that proxy decides which hosts are reachable: behind it this machine may not
  // even resolve names.
  const proxy = options.mayReach === undefined || hasProxy() ? null : new GitProxy(options.mayReach);
  const kept = options.kept === undefined ? null : new KeptObjects(options.kept);
  const call = async <T>(source: GitSource, context: CallContext, action: (call: GitCall) => Promise<T>): Promise<T> => {
    const repository =
      ownRepository(source.url, options.ownRepositories, maximumBytes) ??
      parseRepository(source, { allowLocal: options.allowLocalRepositories ?? false, maximumBytes });
    if (source.branch !== undefined && !isBranchName(source.branch)) throw notABranch(source.branch);
    if (options.mayReach !== undefined) await refuseHost(repository, options.mayReach);
    await refusePlain(repository, options.mayReadPlainly ?? isLoopback);
    const pass = proxy === null || (repository.isLocal && repository.isOwn !== true) ? null : await proxy.open();
    const git = await openGit(repository, limits, pass);
    try {
      return await action({ git, repository, source, signal: context.signal });
    } finally {
      pass?.close();
      await git.close();
    }
  };
  const checkoutOf = (git: GitCall, directory: string, context: CallContext): GitCheckout => {
    const organization = git.source.organization ?? null;
    const shared = kept === null || organization === null ? null : { all: kept, one: kept.of(organization, git.repository.url) };
    return new GitCheckout(git, directory, { context, kept: shared });
  };
  return {
    resolve: (source, context, directory) =>
      call(source, context, async (git) => {
        if (directory === undefined || source.commit !== undefined) return resolve(git);
        return (await checkoutOf(git, directory, context).fetchNewest()) ?? resolve(git);
      }),
    checkout: (source, directory, context) =>
      call(source, context, (git): Promise<Commit> => checkoutOf(git, directory, context).checkout(idOf(source.commit))),
    files: (source, wanted, context) =>
      call(source, context, (git) =>
        inScratchFolder((directory) =>
          new GitCheckout(git, directory, { context, kept: null }).files(idOf(source.commit), wanted),
        ),
      ),
    list: (source, wanted, context) =>
      call(source, context, (git) =>
        inScratchFolder((directory) =>
          new GitCheckout(git, directory, { context, kept: null }).list(idOf(source.commit), wanted),
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
          new GitCheckout(git, directory, { context, kept: null }).treeOf(idOf(source.commit), rootPath),
        ),
      ),
    kept: kept === null ? undefined : keptSources(kept, limits),
  };
}

/** Returns a repository that this installation keeps; null for any other one. Fails if nothing was pushed to it yet. */
function ownRepository(url: string, folder: string | undefined, maximumBytes: number): Repository | null {
  const id = ownRepositoryId(url);
  if (id === null) return null;
  const path = folder === undefined ? null : join(folder, `${id}.git`);
  if (path === null || !existsSync(path)) {
    throw new DriverError({
      cause: 'GIT_REFERENCE_NOT_FOUND',
      message: 'Nothing was pushed to this application yet.',
      hint: 'Run `davit up` in its folder, or push a branch with git: see docs/git-remote.md.',
    });
  }
  return { url: `file://${path}`, isLocal: true, isOwn: true, origin: '', credentials: null, maximumBytes };
}

function keptSources(kept: KeptObjects, limits: GitLimits): KeptSources {
  // Tidying contacts no host.
  const none: Repository = { url: '', isLocal: true, origin: '', credentials: null, maximumBytes: limits.diskBytes };
  return {
    bytes: () => kept.bytes(),
    organizations: () => kept.organizations(),
    forget: (organization) => kept.forget(organization),
    tidy: async (signal) => {
      const git = await openGit(none, limits);
      try {
        await kept.tidy(git, signal);
      } finally {
        await git.close();
      }
    },
  };
}

/**
 * Refuses a host with an address that is not allowed, before git starts. A name that does not resolve is left to git to
 * report.
 */
async function refuseHost({ url, isLocal }: Repository, mayReach: MayReach): Promise<void> {
  if (isLocal) return;
  const { hostname } = new URL(url);
  const refused = await refusedAddress(hostname, mayReach).catch(() => null);
  if (refused !== null) throw notAllowed(url, hostname);
}

/** Refuses to send credentials that anybody on the network path could read. */
async function refusePlain({ url, credentials }: Repository, mayReadPlainly: MayReach): Promise<void> {
  if (credentials === null || !url.startsWith('http:')) return;
  const refused = await refusedAddress(new URL(url).hostname, mayReadPlainly).catch(() => 'no address');
  if (refused === null) return;
  throw new DriverError({
    cause: 'GIT_ACCESS_DENIED',
    message: `The git credentials are not sent to ${url}, because it uses plain http, which others can read in transit.`,
    hint: 'Use the https URL of the repository; or no git token, if it is public. For a private network the operator can name the host in DAVIT_ALLOW_PRIVATE_REPOSITORIES.',
  });
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

function hasProxy(): boolean {
  return ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].some((name) => (process.env[name] ?? '') !== '');
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
    // Fetches commits without folders and files. A host without filters sends everything, which is slower but gives the
    // same result.
    const fetched = await git.run(
      ['-C', directory, 'fetch', '--no-tags', '--progress', '--filter=tree:0', wholeDepth, '--', repository.url, branches],
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
    message: `${JSON.stringify(commit)} is not a commit id, which has 7 to 40 hexadecimal digits.`,
  });
}

function notABranch(branch: string): DriverError {
  return new DriverError({
    cause: 'GIT_REFERENCE_NOT_FOUND',
    message: `${JSON.stringify(branch)} is not a valid name of a branch.`,
  });
}

async function inScratchFolder<T>(action: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'davit-git-'));
  try {
    return await action(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
