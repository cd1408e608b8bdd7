import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { isUuid, ownRepositoryId } from '@davit/base';
import { gitFolderOf, type Settings } from '../configuration.ts';
import { gitEnvironment } from './git-process.ts';

const run = promisify(execFile);

/** Bytes and counts that a push may not exceed. */
export interface GitLimits {
  readonly pushBytes: number;
  readonly repositoryBytes: number;
}

/**
 * The settings of each repository. Objects are checked, since programs of others read them later. A push from a shallow
 * clone is accepted: pipelines have nothing else. Packs are merged by `tidy`, and not while somebody waits for a push.
 */
function settingsOf({ pushBytes }: GitLimits): string {
  return `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
[transfer]
	fsckObjects = true
[receive]
	maxInputSize = ${pushBytes}
	shallowUpdate = true
	denyDeleteCurrent = true
	autogc = false
	advertisePushOptions = false
[gc]
	auto = 0
	autoPackLimit = 50
[uploadpack]
	allowAnySHA1InWant = true
`;
}

/**
 * Refuses references other than branches, before anything is stored. The deployed branch stays: a deployment would find
 * nothing.
 */
const preReceive = `#!/bin/sh
while read -r old new ref; do
  case "$ref" in
    refs/heads/*) ;;
    refs/tags/*)
      echo "Davit takes branches only, and no tags. Push a branch: git push <remote> HEAD:$DAVIT_BRANCH"; exit 1 ;;
    *)
      echo "Davit takes branches only, and not $ref. Push a branch: git push <remote> HEAD:$DAVIT_BRANCH"; exit 1 ;;
  esac
  case "$new" in
    *[!0]*) ;;
    *)
      if [ "$ref" = "refs/heads/$DAVIT_BRANCH" ]; then
        echo "The branch $DAVIT_BRANCH is the one that is deployed. Deploy another branch first."; exit 1
      fi ;;
  esac
done
`;

/**
 * Hands what changed to the server by descriptor 3, and prints what the server answers by descriptor 4. git itself
 * holds descriptor 3, too, so a line ends the report, and not the end of the stream.
 */
const postReceive = `#!/bin/sh
{ cat; echo end; } >&3
exec cat <&4
`;

/** The repositories that this installation keeps for applications, as bare repositories of git in one folder. */
export class GitRepositories {
  readonly #folder: string;
  readonly #limits: GitLimits;

  constructor(folder: string, limits: GitLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  get pushBytes(): number {
    return this.#limits.pushBytes;
  }

  /** Returns the folder of a repository, which is created empty if there is none. May be called at the same time. */
  async open(url: string, branch: string): Promise<string> {
    const id = ownRepositoryId(url);
    if (id === null) throw new Error('the repository is not one that this installation keeps');
    const folder = path.join(this.#folder, `${id}.git`);
    if (await exists(folder)) {
      await setHead(folder, branch);
      return folder;
    }
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const made = path.join(this.#folder, `.new-${randomUUID()}`);
    for (const name of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'hooks'])
      await mkdir(path.join(made, name), { recursive: true, mode: 0o700 });
    await setHead(made, branch);
    await writeFile(path.join(made, 'config'), settingsOf(this.#limits));
    for (const [name, text] of [['pre-receive', preReceive] as const, ['post-receive', postReceive] as const]) {
      await writeFile(path.join(made, 'hooks', name), text);
      await chmod(path.join(made, 'hooks', name), 0o700);
    }
    try {
      await rename(made, folder);
    } catch {
      // Another request created the repository in the meantime.
      await rm(made, { recursive: true, force: true });
    }
    return folder;
  }

  /** Returns whether a repository has room for a push. */
  async hasRoom(folder: string): Promise<boolean> {
    return (await sizeOf(folder)) < this.#limits.repositoryBytes;
  }

  /**
   * Removes repositories that no application names any more, and what killed pushes left. Merges packs. `names`: the
   * URLs of all applications.
   */
  async tidy(urls: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const ids = new Set([...urls].map(ownRepositoryId));
    for (const name of await namesIn(this.#folder)) {
      if (signal.aborted) return;
      const folder = path.join(this.#folder, name);
      // Pushes change folders inside, so the time of the folder itself is that of the last look that found it in use.
      if (ids.has(name.replace(/\.git$/, ''))) await utimes(folder, new Date(), new Date()).catch(() => undefined);
      const age = Date.now() - (await modifiedAt(folder));
      const id = name.replace(/\.git$/, '');
      if ((name.startsWith('.new-') && age > leftoverMilliseconds) || (isUuid(id) && !ids.has(id) && age > unusedMilliseconds)) {
        await rm(folder, { recursive: true, force: true });
        continue;
      }
      if (!isUuid(id)) continue;
      await removeLeftovers(folder);
      await run('git', ['gc', '--auto', '--quiet'], { cwd: folder, signal, env: gitEnvironment() }).catch(() => undefined);
    }
  }
}

/** Returns the repositories of an installation. */
export function gitRepositories(
  config: Settings<'gitFolder' | 'gitPushMiB' | 'gitRepositoryMiB' | 'stateFolder'>,
): GitRepositories {
  const [pushBytes, repositoryBytes] = [config.gitPushMiB * mebibyte, config.gitRepositoryMiB * mebibyte];
  return new GitRepositories(gitFolderOf(config), { pushBytes, repositoryBytes });
}

const mebibyte = 1024 * 1024;

/** A push lasts at most an hour, so what is older was left by a killed one. */
const leftoverMilliseconds = 2 * 3_600_000;
/** A deleted application's repository stays for a day. */
const unusedMilliseconds = 24 * 3_600_000;

/** Sets the branch that a clone checks out. Another git may read the file at the same time, so it is replaced whole. */
async function setHead(folder: string, branch: string): Promise<void> {
  const [file, text] = [path.join(folder, 'HEAD'), `ref: refs/heads/${branch}\n`];
  if ((await readFile(file, 'utf8').catch(() => '')) === text) return;
  const written = `${file}.${randomUUID()}`;
  await writeFile(written, text);
  await rename(written, file);
}

async function removeLeftovers(folder: string): Promise<void> {
  const objects = path.join(folder, 'objects');
  const found = [
    ...(await namesIn(objects)).filter((name) => /incoming-/.test(name)).map((name) => path.join(objects, name)),
    ...(await namesIn(folder)).filter((name) => name.endsWith('.lock')).map((name) => path.join(folder, name)),
    ...(await locksIn(path.join(folder, 'refs/heads'))),
  ];
  for (const one of found)
    if (Date.now() - (await modifiedAt(one)) > leftoverMilliseconds) await rm(one, { recursive: true, force: true });
}

async function locksIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true }).catch((): string[] => []);
  return entries.filter((name) => name.endsWith('.lock')).map((name) => path.join(folder, name));
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((): string[] => []);
}

async function modifiedAt(file: string): Promise<number> {
  return stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => Date.now(),
  );
}

async function exists(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  );
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])) {
    if (!entry.isFile()) continue;
    bytes += await stat(path.join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => 0,
    );
  }
  return bytes;
}
