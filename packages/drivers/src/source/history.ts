import { join } from 'node:path';
import type { Changes, HistoryCommit, WantedChanges } from '../source-driver.ts';
import type { GitResult } from './git-command.ts';
import { gitFailure, isRefusedById, localGitFailure } from './git-failure.ts';
import { listTags, noSuchReference, type GitCall } from './references.ts';

/*
 * Reads commits without files. Hosts that support filters send only commits, or only commits and folders. Other hosts
 * send everything, which is slower but gives the same result.
 */

// Most pushes contain a few commits, for which the first depth is enough. The last one fetches the whole history.
const depths = ['--depth=50', '--depth=1000', '--unshallow'];

/** Returns how `head` differs from `base`. Works in `directory`, which the caller removes. */
export async function readChanges(call: GitCall, directory: string, wanted: WantedChanges): Promise<Changes> {
  const parted = await partingOf(call, join(directory, 'commits'), wanted);
  const from = wanted.sinceParting ? parted : wanted.base;
  const files = from === null ? null : await filesBetween(call, join(directory, 'folders'), from, wanted.head);
  return { isForward: parted === wanted.base, files };
}

/** Returns the merge base of the two commits; null if there is none, or if `base` is gone. */
async function partingOf(call: GitCall, directory: string, { base, head }: WantedChanges): Promise<string | null> {
  if (base === head) return base;
  const run = await open(call, directory);
  for (const depth of depths) {
    const fetched = await fetchCommits(call, run, [depth, '--filter=tree:0'], [head, base]);
    if (!fetched.has(head)) throw noSuchReference({ ...call, source: { ...call.source, commit: head } }, new Map());
    if (!fetched.has(base)) return null;
    const found = await run('merge-base', base, head);
    if (found.code === 0) return found.stdout.trim();
    const shallow = await run('rev-parse', '--is-shallow-repository');
    if (shallow.stdout.trim() === 'false') return null;
  }
  return null;
}

async function filesBetween(call: GitCall, directory: string, from: string, head: string): Promise<string[] | null> {
  const run = await open(call, directory);
  const fetched = await fetchCommits(call, run, ['--depth=1', '--filter=blob:none'], [from, head]);
  if (!fetched.has(from) || !fetched.has(head)) return null;
  // Without renames: git detects them by comparing files, which are not fetched.
  const result = await run('diff', '--name-only', '--no-renames', '--no-ext-diff', '-z', from, head);
  if (result.code !== 0) throw gitFailure(result, call.repository);
  return result.stdout.split('\0').filter((name) => name !== '');
}

/** Returns the newest commits of the branch. Works in `directory`, which the caller removes. */
export async function readHistory(call: GitCall, directory: string, limit: number): Promise<HistoryCommit[]> {
  const run = await open(call, join(directory, 'commits'));
  const { branch } = call.source;
  const reference = branch === undefined ? 'HEAD' : `refs/heads/${branch}`;
  const options = ['fetch', '--no-tags', '--progress', `--depth=${limit}`, '--filter=tree:0'];
  const fetched = await run(...options, '--', 'origin', `+${reference}:refs/heads/found`);
  if (fetched.code !== 0) {
    if (/couldn't find remote ref/.test(fetched.stderr)) throw noSuchReference(call, new Map());
    throw gitFailure(fetched, call.repository);
  }
  const tags = await listTags(call);
  const format = '--format=%H%x00%an%x00%ae%x00%cI%x00%B%x00';
  const log = await run('log', '--no-show-signature', `--max-count=${limit}`, format, 'refs/heads/found');
  if (log.code !== 0) throw localGitFailure(log, call.repository);
  const fields = log.stdout.split('\0');
  const commits: HistoryCommit[] = [];
  for (let at = 0; at + 4 < fields.length; at += 5) {
    const [id = '', authorName = '', authorEmail = '', createdAt = '', message = ''] = fields.slice(at, at + 5);
    const commitId = id.trim();
    commits.push({ id: commitId, authorName, authorEmail, createdAt, message: message.trim(), tag: tags.get(commitId) ?? '' });
  }
  return commits;
}

type Run = (...args: readonly string[]) => Promise<GitResult>;

async function open(call: GitCall, directory: string): Promise<Run> {
  const { git, repository, signal } = call;
  const run: Run = (...args) => git.run(['-C', directory, ...args], { signal });
  const made = await git.run(['init', '--quiet', '--bare', directory], { signal });
  if (made.code !== 0) throw localGitFailure(made, repository);
  const named = await run('remote', 'add', 'origin', repository.url);
  if (named.code !== 0) throw localGitFailure(named, repository);
  return run;
}

/** Returns which of the commits the repository has. A missing commit is not a failure, and does not hide the others. */
async function fetchCommits(
  call: GitCall,
  run: Run,
  options: readonly string[],
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const common = ['fetch', '--no-tags', '--progress', '--no-write-fetch-head', ...options, '--', 'origin'];
  const together = await run(...common, ...ids);
  // If one of several ids is unknown, the host sends none of them.
  if (together.code !== 0 && !isPassable(together)) throw gitFailure(together, call.repository);
  if (together.code !== 0) {
    for (const id of ids) {
      const alone = await run(...common, id);
      if (alone.code !== 0 && !isPassable(alone)) throw gitFailure(alone, call.repository);
    }
  }
  const found = await existing(run, ids);
  if (found.size === ids.length) return found;
  // A host may refuse ids. The commits that it has are then in the history of its branches.
  const whole = options.filter((option) => !/^--(depth|unshallow)/.test(option));
  const fetch = ['fetch', '--no-tags', '--progress', '--no-write-fetch-head', ...whole, '--', 'origin'];
  const heads = await run(...fetch, '+refs/heads/*:refs/remotes/origin/*');
  if (heads.code !== 0 && !isPassable(heads)) throw gitFailure(heads, call.repository);
  return existing(run, ids);
}

function isPassable(result: GitResult): boolean {
  return isRefusedById(result.stderr) || /unshallow/.test(result.stderr);
}

async function existing(run: Run, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const id of ids) {
    if ((await run('cat-file', '-e', `${id}^{commit}`)).code === 0) found.add(id);
  }
  return found;
}
