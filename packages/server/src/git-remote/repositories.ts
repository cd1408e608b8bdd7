import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { isUuid, ownRepositoryId } from '@davit/base';
import { gitFolderOf, type Settings } from '../configuration.ts';
import { gitEnvironment } from './git-process.ts';
import { hooksOf, settingsOf, type GitLimits } from './repository-files.ts';

const run = promisify(execFile);

/** The repositories that this installation keeps for applications, as bare repositories of git in one folder. */
export class GitRepositories {
  readonly #folder: string;
  readonly #limits: GitLimits;

  constructor(folder: string, limits: GitLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  get limits(): GitLimits {
    return this.#limits;
  }

  /** Returns the folder of a repository, which is created empty if there is none. May be called at the same time. */
  async open(url: string, branch: string): Promise<string> {
    const id = ownRepositoryId(url);
    if (id === null) throw new Error('the repository is not one that this installation keeps');
    const folder = path.join(this.#folder, `${id}.git`);
    if (await exists(folder)) {
      // Settings and hooks may be those of an earlier version, or of other limits.
      await this.#configure(folder, branch);
      return folder;
    }
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const made = path.join(this.#folder, `.new-${randomUUID()}`);
    for (const name of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'hooks'])
      await mkdir(path.join(made, name), { recursive: true, mode: 0o700 });
    await this.#configure(made, branch);
    try {
      await rename(made, folder);
    } catch {
      // Another request created the repository in the meantime.
      await rm(made, { recursive: true, force: true });
    }
    return folder;
  }

  async #configure(folder: string, branch: string): Promise<void> {
    // HEAD is the branch that a clone checks out.
    await keepText(path.join(folder, 'HEAD'), `ref: refs/heads/${branch}\n`);
    await keepText(path.join(folder, 'config'), settingsOf(this.#limits));
    for (const [name, text] of Object.entries(hooksOf(this.#limits)))
      await keepText(path.join(folder, 'hooks', name), text, 0o700);
  }

  /** Returns the newest commit of a branch; null if there is no such branch or repository. */
  async newest(url: string, branch: string): Promise<string | null> {
    const id = ownRepositoryId(url);
    if (id === null) return null;
    const args = ['--git-dir', path.join(this.#folder, `${id}.git`), 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`];
    try {
      return (await run('git', args, { env: gitEnvironment() })).stdout.trim();
    } catch (error) {
      // The exit code 1 means that there is no such branch, and 128 no such repository.
      if (error instanceof Error && 'code' in error && (error.code === 1 || error.code === 128)) return null;
      throw error;
    }
  }

  /** Returns whether a repository has room for a push. */
  async hasSpace(folder: string): Promise<boolean> {
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

export type RepositorySettings =
  | 'gitFolder'
  | 'gitPushMiB'
  | 'gitPushObjects'
  | 'gitReferences'
  | 'gitRepositoryMiB'
  | 'stateFolder';

/** Returns the repositories of an installation. */
export function gitRepositories(config: Settings<RepositorySettings>): GitRepositories {
  return new GitRepositories(gitFolderOf(config), {
    pushBytes: config.gitPushMiB * mebibyte,
    pushObjects: config.gitPushObjects,
    references: config.gitReferences,
    repositoryBytes: config.gitRepositoryMiB * mebibyte,
  });
}

const mebibyte = 1024 * 1024;

/** A push lasts at most an hour, so what is older was left by a killed one. */
const leftoverMilliseconds = 2 * 3_600_000;
/** A deleted application's repository stays for a day. */
const unusedMilliseconds = 24 * 3_600_000;

/** Writes a file unless it has this text. Another git may read the file at the same time, so it is replaced whole. */
async function keepText(file: string, text: string, mode = 0o600): Promise<void> {
  if ((await readFile(file, 'utf8').catch(() => '')) === text) return;
  const written = `${file}.${randomUUID()}`;
  await writeFile(written, text, { mode });
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
