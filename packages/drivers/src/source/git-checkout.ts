import { awaitedLater } from './awaited-later.ts';
import { shownUrl } from './repository-url.ts';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CallContext } from '../driver.ts';
import type { Commit, FileList, WantedFiles, WantedList } from '../source-driver.ts';
import { DriverError } from '../errors.ts';
import { CommitFiles } from './commit-files.ts';
import { replacedAddresses } from './submodule-addresses.ts';
import { diskBytes, gitFolders } from './disk-size.ts';
import type { GitResult } from './git-command.ts';
import { progressTo } from './git-progress.ts';
import { gitFailure, isRefusedById, localGitFailure, tooLarge } from './git-failure.ts';
import type { KeptObjects, KeptRepository } from './kept-objects.ts';
import { initRepository } from './new-repository.ts';
import { listReferences, listTags, noSuchReference, wholeDepth, type GitCall } from './references.ts';

export interface CheckoutOptions {
  readonly context: CallContext;
  /** Objects of earlier checkouts, of this repository and of all; null: none are used or kept. */
  readonly kept: { readonly all: KeptObjects; readonly one: KeptRepository } | null;
}

/** Where `fetchNewest` stores the commit, for `checkout`. */
const newestReference = 'refs/davit/newest';

/** One commit in one folder, fetched as shallow as the host allows. */
export class GitCheckout {
  readonly #call: GitCall;
  readonly #directory: string;
  readonly #options: CheckoutOptions;

  constructor(call: GitCall, directory: string, options: CheckoutOptions) {
    this.#call = call;
    this.#directory = directory;
    this.#options = options;
  }

  /**
   * Fetches the newest commit of the branch for a later `checkout` to the same folder, and returns its id. Returns null
   * if nothing is kept, because that would fetch everything, or if `#fetchTagged` does not succeed.
   */
  async fetchNewest(): Promise<string | null> {
    const { source } = this.#call;
    const kept = this.#options.kept?.one ?? null;
    if (kept === null) return null;
    await this.#initAnew();
    if (!(await kept.linkInto(this.#gitFolder).catch(() => false))) return null;
    const reference = source.branch === undefined ? 'HEAD' : `refs/heads/${source.branch}`;
    return (await this.#fetchTagged(`+${reference}:${newestReference}`)) ? this.#readNewest() : null;
  }

  /**
   * Fetches references and commits without their history, with the tags that point at them. Git fetches tags if a
   * reference is stored here. Returns false if the host has no such reference, or if the fetch fails for a reason that
   * kept objects may have. Fails if the host cannot be reached or refuses access.
   */
  async #fetchTagged(...wanted: readonly string[]): Promise<boolean> {
    const options = ['--progress', '--no-recurse-submodules', '--no-write-fetch-head', '--depth=1'];
    const result = await this.#followed('fetch', ...options, '--', 'origin', ...wanted);
    if (result.code === 0) return true;
    const failure = gitFailure(result, this.#call.repository);
    if (isFaultOfHost(failure)) throw failure;
    return false;
  }

  /** Returns the commit that `fetchNewest` has fetched to this folder; null if there is none. */
  async #readNewest(): Promise<string | null> {
    const id = await readFile(join(this.#gitFolder, newestReference), 'utf8').catch(() => '');
    return id.trim() === '' ? null : id.trim();
  }

  /** Leaves the files of the commit and of its submodules in the folder, and no `.git`. */
  async checkout(wanted: string): Promise<Commit> {
    this.#options.context.log(`Fetching commit ${wanted} of ${shownUrl(this.#call.repository)}`);
    const { kept } = this.#options;
    const { signal } = this.#call;
    const attempt: Attempt = { wanted, replacesKept: false, usesKept: false };
    try {
      // A turn contains the fetch only: the folder has its own links to all objects then.
      const fetched = kept === null ? this.#fetchCommit(attempt) : kept.one.inTurn(signal, () => this.#fetchCommit(attempt));
      return await this.#writeFiles(await fetched);
    } catch (error) {
      if (kept === null || signal.aborted || !(error instanceof DriverError)) throw error;
      if (error.code === 'DISK_FULL' && (await kept.all.organizations()).length > 0) await kept.all.clear();
      else if (!attempt.usesKept || isFaultOfHost(error)) throw error;
      // Kept objects may be damaged, or make the repository too large. They must fail no checkout.
      this.#options.context.log('Fetching all of the commit, without objects of earlier deployments');
      return this.#writeFiles(await this.#fetchCommit({ wanted, replacesKept: true, usesKept: false }));
    }
  }

  /** Fetches the commit and keeps its objects for the next checkout. */
  async #fetchCommit(attempt: Attempt): Promise<Fetched> {
    const { wanted } = attempt;
    const kept = this.#options.kept?.one ?? null;
    if (kept !== null && !attempt.replacesKept && (await this.#readNewest()) === wanted) {
      attempt.usesKept = true;
      // A checkout that is interrupted is repeated with a fetch of its own.
      await rm(join(this.#gitFolder, newestReference));
      return { id: wanted, commit: awaitedLater(this.#readAndKeep(kept, wanted)) };
    }
    await this.#initAnew();
    if (kept !== null && !attempt.replacesKept && isFullId(wanted)) {
      attempt.usesKept = await kept.linkInto(this.#gitFolder).catch(async () => {
        // A part is missing on the disk, and the repository has the rest.
        attempt.replacesKept = true;
        await rm(this.#gitFolder, { recursive: true, force: true });
        await this.#init();
        return false;
      });
    }
    const { branch } = this.#call.source;
    // Mostly it is the newest commit of its branch, so the branch costs nothing and brings the tags.
    if (kept !== null && attempt.usesKept && branch !== undefined) {
      const isFetched = await this.#fetchTagged(wanted, `+refs/heads/${branch}:refs/davit/branch`);
      if (isFetched) return { id: wanted, commit: awaitedLater(this.#readAndKeep(kept, wanted)) };
    }
    // The tags need a round trip of their own, which is shorter than the fetch and runs at the same time.
    const tags = awaitedLater(listTags(this.#call)); // A failed fetch comes first.
    const { commit, isShallow } = await this.#fetch(wanted, [], attempt.usesKept);
    if (kept !== null && isShallow) await this.#keep(kept, commit.id, attempt.replacesKept);
    return { id: commit.id, commit: awaitedLater(tags.then((known) => ({ ...commit, tag: known.get(commit.id) ?? '' }))) };
  }

  /** Returns a commit that `#fetchTagged` has fetched, after its objects are kept. */
  async #readAndKeep(kept: KeptRepository, wanted: string): Promise<Commit> {
    const commit = await this.#details(wanted);
    if (commit === null) throw await this.#noSuchCommit(wanted);
    await this.#keep(kept, commit.id, false);
    return commit;
  }

  async #keep(kept: KeptRepository, id: string, replacesKept: boolean): Promise<void> {
    const { signal } = this.#call;
    await kept.keep(this.#gitFolder, id, { replacesKept, signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      const reason = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      this.#options.context.log(`The objects of this commit could not be kept for the next deployment${reason}`);
    });
  }

  async #writeFiles({ id, commit }: Fetched): Promise<Commit> {
    const { hasAttributes } = await this.#look(id);
    this.#must(await this.#followed('checkout', '--progress', '--force', '--detach', id));
    if (hasAttributes) await this.#fetchLargeFiles();
    await this.#submodules();
    // A build would copy .git into the context. There it breaks the cache, as it differs between checkouts, and ends up
    // in images.
    const details = await commit;
    for (const folder of await gitFolders(this.#directory)) await rm(folder, { recursive: true, force: true });
    return details;
  }

  /** Returns the id of the tree at a path of a commit, without fetching files. */
  async treeOf(wanted: string, rootPath: string): Promise<string | null> {
    await this.#init();
    const { id } = (await this.#fetch(wanted, ['--filter=blob:none'])).commit;
    const path = rootPath.replace(/^[./]+|\/+$/g, '');
    const result = await this.#git('rev-parse', '--quiet', '--verify', `${id}:${path}`);
    if (result.code !== 0) return null;
    const tree = result.stdout.trim();
    const type = await this.#git('cat-file', '-t', tree);
    return type.stdout.trim() === 'tree' ? tree : null;
  }

  /** Returns the texts of single files of a commit, without fetching the others. */
  async files(wanted: string, { rootPath, paths }: WantedFiles): Promise<(string | null)[]> {
    const files = await this.#filesOf(wanted, rootPath);
    const texts: (string | null)[] = [];
    for (const path of paths) texts.push(await files.read(`${rootPath}/${path}`));
    return texts;
  }

  /** Returns the paths of a commit's files, and the texts of chosen ones; see `SourceDriver`. */
  async list(wanted: string, { rootPath, maximumFiles, choose }: WantedList): Promise<FileList> {
    const files = await this.#filesOf(wanted, rootPath);
    const found = await files.list(rootPath, maximumFiles);
    const texts = new Map<string, string>();
    for (const path of choose(found.paths)) {
      const text = await files.read(`${rootPath}/${path}`);
      if (text !== null) texts.set(path, text);
    }
    return { ...found, texts };
  }

  /** Fetches the folders of a commit. Fails with BUILD_ROOT_MISSING if it has no folder `rootPath`. */
  async #filesOf(wanted: string, rootPath: string): Promise<CommitFiles> {
    await this.#init();
    const { id } = (await this.#fetch(wanted, ['--filter=blob:none'])).commit;
    const files = new CommitFiles(id, (...args) => this.#readObject(args));
    if (await files.hasFolder(rootPath)) return files;
    throw new DriverError({
      cause: 'BUILD_ROOT_MISSING',
      message: `The git repository ${this.#call.repository.url} has no folder ${rootPath} at commit ${id.slice(0, 12)}.`,
    });
  }

  /** Reads an object. A text is first fetched by its id: the clone contains none, and git fetches nothing by itself. */
  async #readObject(args: readonly string[]): Promise<string> {
    const there = await this.#git(...args);
    if (there.code === 0) return there.stdout;
    const [command, type, id = ''] = args;
    if (command !== 'cat-file' || type !== 'blob') return this.#must(there).stdout;
    await this.#fetchOnce(['--filter=blob:none'], id);
    return this.#reached(await this.#git(...args)).stdout;
  }

  async #initAnew(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
    await mkdir(this.#directory, { recursive: true });
    await this.#init();
  }

  // Relative URLs of submodules are resolved against the URL, and a partial clone fetches missing objects from it.
  #init(): Promise<void> {
    return initRepository(this.#directory, this.#call.repository.url);
  }

  /**
   * Fetches by id: with `--depth` git asks the host even if the commit is there. If the host refuses that, searches the
   * branch with increasing depth, then all branches. `isShallow`: the commit came without its history. `usesKept`: the
   * repository has commits that these credentials may not read. It is then not searched, because the commit could be
   * one of them.
   */
  async #fetch(wanted: string, filter: readonly string[], usesKept = false): Promise<{ commit: Commit; isShallow: boolean }> {
    if (isFullId(wanted)) {
      const direct = await this.#fetchOnce([...filter, '--depth=1'], wanted);
      if (direct.code === 0) {
        const commit = await this.#details(wanted);
        if (commit === null) throw await this.#noSuchCommit(wanted);
        return { commit, isShallow: true };
      }
      if (usesKept || !isRefusedById(direct.stderr)) throw gitFailure(direct, this.#call.repository);
      this.#options.context.log('The host does not serve this commit by its id; looking for it on the branch');
    }
    const { branch } = this.#call.source;
    const reference = branch === undefined ? 'HEAD' : `refs/heads/${branch}`;
    for (const depth of ['--depth=50', '--depth=1000', '--unshallow', '']) {
      const all = depth === '';
      const result = await this.#fetchOnce(
        [...filter, ...(all ? [] : [depth])],
        all ? '+refs/heads/*:refs/remotes/origin/*' : reference,
      );
      const commit = await this.#details(wanted);
      if (commit !== null) return { commit, isShallow: false };
      // If the host refuses this depth (`--unshallow` of a complete repository, or a host without shallow fetches), the
      // next depth is tried.
      if (all && result.code !== 0) throw gitFailure(result, this.#call.repository);
    }
    throw await this.#noSuchCommit(wanted);
  }

  async #fetchOnce(options: readonly string[], reference: string): Promise<GitResult> {
    const common = ['fetch', '--no-tags', '--progress', '--no-recurse-submodules', '--no-write-fetch-head'];
    const result = await this.#followed(...common, ...options, '--', 'origin', reference);
    if (result.code !== 0 && !isRefusedById(result.stderr) && !/unshallow/.test(result.stderr)) {
      throw gitFailure(result, this.#call.repository);
    }
    return result;
  }

  async #noSuchCommit(commit: string): Promise<DriverError> {
    return noSuchReference({ ...this.#call, source: { ...this.#call.source, commit } }, await listReferences(this.#call));
  }

  /**
   * Checks the size before any file is written: a small pack can hold huge files. Returns whether a folder has
   * attributes of files, which may name Git LFS.
   */
  async #look(id: string): Promise<{ hasAttributes: boolean }> {
    const result = this.#must(await this.#git('ls-tree', '-r', '-l', id));
    // Columns: mode, type, id, size; a submodule has `-` as its size.
    const sizes = result.stdout.matchAll(/^\d+ \w+ [0-9a-f]+ +(\d+)\t/gm);
    const bytes = sizes.reduce((sum, [, size]) => sum + Number(size), 0);
    if (bytes > this.#call.repository.maximumBytes) throw tooLarge(this.#call.repository, bytes);
    return { hasAttributes: /[\t/]\.gitattributes"?$/m.test(result.stdout) };
  }

  async #fetchLargeFiles(): Promise<void> {
    const used = await this.#git('grep', '--quiet', 'filter=lfs', 'HEAD', '--', '.gitattributes', '**/.gitattributes');
    if (used.code !== 0) return;
    if (this.#call.repository.isOwn === true) {
      this.#options.context.log(
        'This repository keeps files in Git LFS, which Davit does not store: these files remain pointers',
      );
      return;
    }
    const { git, signal } = this.#call;
    const installed = await git.run(['lfs', 'version'], { signal });
    if (installed.code !== 0) {
      this.#options.context.log(
        'This repository keeps files in Git LFS, and git-lfs is not installed: these files remain pointers',
      );
      return;
    }
    this.#options.context.log('Fetching Git LFS files');
    this.#must(await this.#git('lfs', 'install', '--local', '--skip-repo'));
    this.#reached(await this.#git('lfs', 'pull', 'origin'));
  }

  async #submodules(): Promise<void> {
    const modules = await readFile(join(this.#directory, '.gitmodules'), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    if (modules.trim() === '') return;
    this.#options.context.log('Fetching submodules');
    for (const [written, used] of replacedAddresses(modules, this.#call.repository.origin)) {
      this.#options.context.log(`Submodules at ${written} are fetched from ${used}`);
      // The user's configuration, which is Davit's own here: git drops the repository's for submodules.
      this.#must(await this.#git('config', '--global', '--add', `url.${used}.insteadOf`, written));
    }
    const update = ['submodule', 'update', '--init', '--recursive', '--progress'];
    const shallow = await this.#followed(...update, '--depth=1');
    if (shallow.code !== 0) {
      // Hosts that refuse a commit by its id require the history that contains it, and this command does not deepen a
      // shallow clone.
      await this.#git('submodule', '--quiet', 'deinit', '--force', '--all');
      await rm(join(this.#directory, '.git/modules'), { recursive: true, force: true });
      this.#reached(await this.#followed(...update, '--no-recommend-shallow', wholeDepth, '--no-single-branch'));
    }
    const bytes = await diskBytes(this.#directory);
    if (bytes > this.#call.repository.maximumBytes * 2) throw tooLarge(this.#call.repository, bytes);
  }

  /**
   * Returns a commit of the repository; null if it has no commit with this id. `tag`: of the tags in the repository.
   */
  async #details(wanted: string): Promise<Commit | null> {
    const format = '--format=%H%x00%an%x00%cI%x00%D%x00%B';
    const only = ['--no-patch', '--no-show-signature', '--decorate-refs=refs/tags/*'];
    const result = await this.#git('show', ...only, format, `${wanted}^{commit}`, '--');
    if (/^fatal: bad revision/m.test(result.stderr)) return null;
    this.#must(result);
    const [id = '', authorName = '', createdAt = '', tags = '', message = ''] = result.stdout.split('\0');
    // A commit without history is also decorated as `grafted`.
    const [tag = ''] = tags.split(', ').flatMap((one) => (one.startsWith('tag: ') ? [one.slice('tag: '.length)] : []));
    return { id, message: message.trim(), authorName, createdAt, tag };
  }

  #git(...args: readonly string[]): Promise<GitResult> {
    return this.#call.git.run(['-C', this.#directory, ...args], { signal: this.#call.signal });
  }

  /** Runs a command whose progress goes to the log. */
  #followed(...args: readonly string[]): Promise<GitResult> {
    const { git, signal } = this.#call;
    const onProgress = progressTo((line) => this.#options.context.log(line));
    return git.run(['-C', this.#directory, ...args], { signal, onProgress });
  }

  get #gitFolder(): string {
    return join(this.#directory, '.git');
  }

  /** For commands that contact the host. */
  #reached(result: GitResult): GitResult {
    if (result.code !== 0) throw gitFailure(result, this.#call.repository);
    return result;
  }

  /** For commands that work on this machine only. */
  #must(result: GitResult): GitResult {
    if (result.code !== 0) throw localGitFailure(result, this.#call.repository);
    return result;
  }
}

interface Attempt {
  readonly wanted: string;
  /** Whether nothing kept is used, and what is kept is replaced. */
  replacesKept: boolean;
  /** Whether kept objects are in the repository. */
  usesKept: boolean;
}

interface Fetched {
  readonly id: string;
  /** Nobody need await it at once: see `awaitedLater`. */
  readonly commit: Promise<Commit>;
}

function isFullId(wanted: string): boolean {
  return wanted.length === 40;
}

/** Returns whether a failure is certainly none of the objects on this machine. */
function isFaultOfHost(error: DriverError): boolean {
  if (error.code === 'GIT_ACCESS_DENIED' || error.code === 'GIT_LOCAL_FORBIDDEN') return true;
  return error.code === 'GIT_UNREACHABLE' && /unable to access|stopped answering|RPC failed|is not allowed/.test(wordsOf(error));
}

function wordsOf({ message, evidence }: DriverError): string {
  return [message, ...(evidence?.lines ?? [])].join('\n');
}
