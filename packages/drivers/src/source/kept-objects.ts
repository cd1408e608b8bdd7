import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inParallel } from '@davit/base';
import { withLock } from '../shared/processes.ts';
import { diskBytes } from './disk-size.ts';
import type { Git } from './git-command.ts';

/*
 * Objects of repositories that stay on the disk between checkouts: <folder>/<organization>/<repository>/ has packs, and
 * `state.json`, which lists the packs and the commits that they contain completely.
 *
 * No git command ever writes there. A checkout links the packs into its own repository, fetches, and links the packs
 * that it received back. Packs do not change once they are written, and the list is replaced in one step. A process
 * that is killed at any moment therefore leaves either the former list or the new one.
 */

/** Where objects are kept, and how much. */
export interface KeptOptions {
  readonly folder: string;
  /** Bytes of all repositories together. */
  readonly maximumBytes: number;
}

interface State {
  /** Commits without their history, newest first. */
  readonly commits: readonly string[];
  /** Names without extension. */
  readonly packs: readonly string[];
}

// The commits of the branches that are deployed in turn. A fetch of a commit on one branch costs what differs from the
// nearest of them.
const maxCommits = 10;
// Each checkout that received something adds a pack. Many packs slow git down, and they contain objects of former
// commits.
const maxPacks = 10;
const unusedMilliseconds = 30 * 86_400_000;
// Smaller additions wait for the next tidying.
const largeAdditionBytes = 16 * 1024 ** 2;
const repackMilliseconds = 30 * 60_000;
// A fetch that got its turn later than this has waited for another one.
const waitMilliseconds = 100;
const parts = ['idx', 'rev', 'pack'] as const;
const stateFile = 'state.json';
const repackMark = '.repack-';
const idPattern = /^[0-9a-f]{40}$/;
const packPattern = /^pack-[0-9a-f]{40,64}$/;

/** The kept objects of all repositories. Processes of one machine may share the folder: they change it under locks. */
export class KeptObjects {
  readonly #options: KeptOptions;

  constructor(options: KeptOptions) {
    this.#options = options;
  }

  /** Organizations never share objects: an object is only known to the organization that fetched it from that URL. */
  of(organization: string, url: string): KeptRepository {
    if (!/^[\w-]+$/.test(organization)) throw new Error(`${organization} is not the id of an organization`);
    const name = createHash('sha256').update(url).digest('hex').slice(0, 32);
    return new KeptRepository(join(this.#options.folder, organization, name), this);
  }

  /** Returns the bytes that all objects use on the disk. */
  bytes(): Promise<number> {
    return diskBytes(this.#options.folder);
  }

  /** Returns the organizations for which objects are kept. */
  organizations(): Promise<string[]> {
    return namesIn(this.#options.folder);
  }

  async forget(organization: string): Promise<void> {
    await rm(join(this.#options.folder, organization), { recursive: true, force: true });
  }

  /** Removes all kept objects, because the disk is full. */
  async clear(): Promise<void> {
    for (const organization of await this.organizations()) await this.forget(organization);
  }

  /** Removes what was unused for 30 days or exceeds the limit, and repacks what consists of many packs. */
  async tidy(git: Git, signal: AbortSignal): Promise<void> {
    for (const path of await this.#folders()) {
      signal.throwIfAborted();
      if (path.includes(repackMark)) await rm(path, { recursive: true, force: true });
      else await new KeptRepository(path, this).tidy(git, signal);
    }
    await this.bound();
    for (const organization of await this.organizations()) {
      // A folder that is not empty stays.
      await rmdir(join(this.#options.folder, organization)).catch(() => undefined);
    }
  }

  /** Removes the repositories that were not used for the longest time until the rest is within the limit. */
  async bound(): Promise<void> {
    const found = await Promise.all(
      (await this.#folders()).map(async (path) => ({
        path,
        bytes: await diskBytes(path),
        usedAt: await stat(join(path, stateFile)).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        ),
      })),
    );
    let bytes = found.reduce((sum, one) => sum + one.bytes, 0);
    for (const one of found.toSorted((a, b) => a.usedAt - b.usedAt)) {
      const isUnused = one.usedAt !== 0 && one.usedAt < Date.now() - unusedMilliseconds;
      if (bytes <= this.#options.maximumBytes && !isUnused) continue;
      await rm(one.path, { recursive: true, force: true });
      bytes -= one.bytes;
    }
  }

  async #folders(): Promise<string[]> {
    const { folder } = this.#options;
    const lists = await Promise.all(
      (await this.organizations()).map(async (organization) =>
        (await namesIn(join(folder, organization))).map((name) => join(folder, organization, name)),
      ),
    );
    return lists.flat();
  }
}

/** The kept objects of one repository of one organization. */
export class KeptRepository {
  readonly #folder: string;
  readonly #all: KeptObjects;

  constructor(folder: string, all: KeptObjects) {
    this.#folder = folder;
    this.#all = all;
  }

  /**
   * Runs a fetch. As long as nothing is kept, only one fetch runs, so that services of one repository that are deployed
   * together fetch it once. A fetch that has waited and finds nothing kept follows one that failed: it and those behind
   * it then run side by side.
   */
  async inTurn<Result>(signal: AbortSignal, fetch: () => Promise<Result>): Promise<Result> {
    if ((await this.#read()) !== null) return fetch();
    const came = Date.now();
    const run = { result: null as Promise<Result> | null };
    try {
      await this.#locked('fetch.lock', signal, async () => {
        const hasWaited = Date.now() - came > waitMilliseconds;
        if (hasWaited && (await this.#read()) === null) return;
        run.result = fetch();
        await run.result;
      });
    } catch (error) {
      // Without a lock the fetch is only slower.
      if (run.result !== null || signal.aborted) throw error;
    }
    return run.result ?? fetch();
  }

  /** Puts the kept objects into a repository that was just initialized. Returns whether there are any. */
  async linkInto(gitFolder: string): Promise<boolean> {
    const state = await this.#read();
    if (state === null || state.commits.length === 0) return false;
    await inParallel(state.packs, 4, (pack) => linkPack(this.#folder, join(gitFolder, 'objects/pack'), pack));
    // Git offers the commits of references to the host, which then sends only what differs.
    const references = state.commits.toSorted().map((id) => `${id} refs/kept/${id}\n`);
    await writeFile(join(gitFolder, 'packed-refs'), references.join(''));
    await writeFile(join(gitFolder, 'shallow'), state.commits.map((id) => `${id}\n`).join(''));
    return true;
  }

  /**
   * Keeps the objects of a repository that contains this commit completely. `replacesKept`: what was kept is not
   * trusted and is replaced.
   */
  async keep(
    gitFolder: string,
    commit: string,
    { replacesKept, signal }: { replacesKept: boolean; signal: AbortSignal },
  ): Promise<void> {
    const packFolder = join(gitFolder, 'objects/pack');
    const packs = await packsIn(packFolder);
    let addedBytes = 0;
    await this.#locked('lock', signal, async () => {
      if (replacesKept) await rm(this.#folder, { recursive: true, force: true });
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      const former = (await this.#read()) ?? { commits: [], packs: [] };
      // All packs, and not only those received: a repacking may have removed what this commit needs.
      for (const pack of packs) {
        if (former.packs.includes(pack)) continue;
        await linkPack(packFolder, this.#folder, pack);
        addedBytes += (await stat(join(this.#folder, `${pack}.pack`))).size;
      }
      await this.#write({
        commits: [commit, ...former.commits.filter((id) => id !== commit)].slice(0, maxCommits),
        packs: [...new Set([...former.packs, ...packs])],
      });
    });
    if (addedBytes > largeAdditionBytes) await this.#all.bound();
  }

  /** Removes files that a killed process left, and objects that no kept commit needs. */
  async tidy(git: Git, signal: AbortSignal): Promise<void> {
    await this.#locked('lock', signal, async () => {
      const state = await this.#read();
      const kept = new Set([stateFile, ...(state?.packs ?? []).flatMap((pack) => parts.map((part) => `${pack}.${part}`))]);
      for (const name of await readdir(this.#folder).catch(() => [])) {
        if (!kept.has(name)) await rm(join(this.#folder, name), { recursive: true, force: true });
      }
    });
    const state = await this.#read();
    if (state === null || state.packs.length <= maxPacks) return;
    const scratch = `${this.#folder}${repackMark}${randomUUID()}`;
    try {
      await this.#repack(git, { scratch, state, signal });
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }

  async #repack(git: Git, { scratch, state, signal }: { scratch: string; state: State; signal: AbortSignal }): Promise<void> {
    const options = { signal, idleMilliseconds: repackMilliseconds };
    const made = await git.run(['init', '--quiet', '--bare', scratch], options);
    const usesKept = made.code === 0 && (await this.linkInto(scratch).catch(() => false));
    // No search for better deltas: that takes minutes of processor for a large repository.
    const done = usesKept ? await git.run(['-C', scratch, 'repack', '-a', '-d', '-q', '--window=0'], options) : made;
    if (done.code !== 0 || !usesKept) {
      await rm(this.#folder, { recursive: true, force: true });
      return;
    }
    const packs = await packsIn(join(scratch, 'objects/pack'));
    await this.#locked('lock', signal, async () => {
      const now = await this.#read();
      // A checkout has added something meanwhile, which may need what the repacking left out.
      if (now === null || now.packs.join() !== state.packs.join() || now.commits.join() !== state.commits.join()) return;
      for (const pack of packs) await linkPack(join(scratch, 'objects/pack'), this.#folder, pack);
      await this.#write({ commits: state.commits, packs });
      for (const pack of state.packs.filter((one) => !packs.includes(one))) {
        for (const part of parts) await rm(join(this.#folder, `${pack}.${part}`), { force: true });
      }
    });
  }

  async #read(): Promise<State | null> {
    try {
      const found: unknown = JSON.parse(await readFile(join(this.#folder, stateFile), 'utf8'));
      return isState(found) ? found : null;
    } catch {
      return null; // Nothing is kept, or the file is damaged.
    }
  }

  async #write(state: State): Promise<void> {
    const draft = join(this.#folder, `${stateFile}-${randomUUID()}`);
    await writeFile(draft, JSON.stringify(state), { mode: 0o600 });
    await rename(draft, join(this.#folder, stateFile));
  }

  async #locked(name: 'lock' | 'fetch.lock', signal: AbortSignal, action: () => Promise<void>): Promise<void> {
    await mkdir(dirname(this.#folder), { recursive: true, mode: 0o700 });
    await withLock(`${this.#folder}.${name}`, signal, action);
  }
}

function isState(value: unknown): value is State {
  if (typeof value !== 'object' || value === null || !('commits' in value) || !('packs' in value)) return false;
  return isListOf(value.commits, idPattern) && isListOf(value.packs, packPattern);
}

function isListOf(value: unknown, pattern: RegExp): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && pattern.test(one));
}

async function packsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter((name) => name.endsWith('.pack')).map((name) => name.slice(0, -'.pack'.length));
}

/** Links the files of a pack. The reverse index (`rev`) is optional; git computes it. */
async function linkPack(from: string, to: string, pack: string): Promise<void> {
  for (const part of parts) {
    const [source, target] = [join(from, `${pack}.${part}`), join(to, `${pack}.${part}`)];
    await link(source, target).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST' || (error.code === 'ENOENT' && part === 'rev')) return;
      if (error.code === 'ENOENT') throw error;
      // Another file system, or one without links.
      await copyFile(source, target, constants.COPYFILE_FICLONE);
    });
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
