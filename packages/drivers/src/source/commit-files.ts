import { posix } from 'node:path';
import type { FileList } from '../source-driver.ts';

/** Runs git in the repository; fails if git does. */
type RunGit = (...args: readonly string[]) => Promise<string>;

const file = /^100\d{3}$/;
const symbolicLink = '120000';
// Linux has the same limit.
const maxLinks = 40;

/** Files of one commit, read from the repository's objects. Git fetches missing objects itself. */
export class CommitFiles {
  readonly #commit: string;
  readonly #git: RunGit;

  constructor(commit: string, git: RunGit) {
    this.#commit = commit;
    this.#git = git;
  }

  async hasFolder(path: string): Promise<boolean> {
    const plain = plainPath(path);
    if (plain === null) return false;
    return plain === '' || (await this.#entry(plain))?.type === 'tree';
  }

  /** Returns the paths of all files below a folder, relative to it, in git's order; see `WantedList`. */
  async list(rootPath: string, maximumFiles: number): Promise<Pick<FileList, 'paths' | 'isComplete'>> {
    const folder = plainPath(rootPath) ?? '';
    const within = folder === '' ? [] : ['--', `${folder}/`];
    // Git's output may be cut off at its limit, within a path.
    const lines = (await this.#git('--literal-pathspecs', 'ls-tree', '-r', '-z', this.#commit, ...within)).split('\0');
    const rest = lines.pop();
    const paths = lines.flatMap((line) => {
      const [, mode = '', path = ''] = /^(\d+) [^\t]*\t(.*)$/s.exec(line) ?? [];
      return file.test(mode) ? [path.slice(folder === '' ? 0 : folder.length + 1)] : [];
    });
    return { paths: paths.slice(0, maximumFiles), isComplete: rest === '' && paths.length <= maximumFiles };
  }

  /** Returns the text of a file; null if no file has that path. */
  async read(path: string): Promise<string | null> {
    let wanted = plainPath(path);
    for (let links = 0; wanted !== null && links < maxLinks; links += 1) {
      const found = await this.#resolve(wanted);
      if (found === null) return null;
      if (typeof found === 'object') return this.#text(found.id);
      wanted = found;
    }
    return null;
  }

  /**
   * Returns the entry of a file. If a part of the path is a symbolic link, returns the path with that link resolved
   * instead.
   */
  async #resolve(path: string): Promise<{ readonly id: string } | string | null> {
    const parts = path.split('/');
    for (let length = 1; length <= parts.length; length += 1) {
      const entry = await this.#entry(parts.slice(0, length).join('/'));
      if (entry === undefined) return null;
      if (entry.mode === symbolicLink) {
        const target = await this.#text(entry.id);
        // An absolute path refers to the machine, not to the repository.
        if (posix.isAbsolute(target)) return null;
        return plainPath(posix.join(...parts.slice(0, length - 1), target, ...parts.slice(length)));
      }
      if (length === parts.length) return file.test(entry.mode) ? entry : null;
    }
    return null;
  }

  async #entry(path: string): Promise<{ readonly mode: string; readonly type: string; readonly id: string } | undefined> {
    // Columns: mode, type, id, path.
    const line = await this.#git('--literal-pathspecs', 'ls-tree', '-z', this.#commit, '--', path);
    const [mode, type, id] = line.split(/[ \t]/);
    return mode === undefined || type === undefined || id === undefined ? undefined : { mode, type, id };
  }

  #text(id: string): Promise<string> {
    return this.#git('cat-file', 'blob', id);
  }
}

/** Returns the path without dots and without slashes at its ends; null if it points outside the repository. */
function plainPath(path: string): string | null {
  const plain = posix.normalize(`./${path}`).replace(/^\/+|\/+$/g, '');
  if (plain === '..' || plain.startsWith('../')) return null;
  return plain === '.' ? '' : plain;
}
