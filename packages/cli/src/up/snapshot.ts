import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CliError, codeOf } from '../errors.ts';
import { git, runGit, type GitEnded, type GitRun } from './git.ts';
import { ignoreRules, rulesFromAbove } from './ignore.ts';

export interface Snapshot {
  readonly commit: string;
  readonly tree: string;
  /** Number of files that differ from the last snapshot that was sent; null: none was sent yet. */
  readonly changedFiles: number | null;
  readonly files: number;
  /** Bytes of all files. */
  readonly bytes: number;
  /** Files that usually have secrets, and that no rule leaves out. */
  readonly secrets: readonly string[];
  /** Repositories inside the folder, which are left out. */
  readonly submodules: readonly string[];
}

/**
 * The files of a folder as commits in a repository of their own, below the user's cache folder. The folder may have a
 * repository or not; its own is only read. Files that .gitignore or .dockerignore name are left out.
 */
export class Snapshots {
  readonly #folder: string;
  readonly #repository: string;
  /** The commit that is or was pushed last. */
  #pushed: string | null = null;

  constructor(folder: string, cacheFolder: string, server: string) {
    // Commands that send no folder need not load the module.
    const { createHash } = process.getBuiltinModule('node:crypto');
    const name = createHash('sha256').update(`${server}\n${folder}`).digest('hex').slice(0, 24);
    this.#folder = folder;
    this.#repository = path.join(cacheFolder, `${name}.git`);
  }

  /** Commits what is in the folder now, after the last snapshot that was sent. */
  async take(): Promise<Snapshot> {
    await this.#prepare();
    await this.#git(['-c', 'advice.addEmbeddedRepo=false', 'add', '--all', '.']);
    await this.#leaveOutIgnored();
    const submodules = await this.#leaveOutRepositories();
    const tree = await this.#git(['write-tree']);
    const last = await this.lastSent();
    const [message, changed, sizes] = await Promise.all([
      this.#message(),
      last === null ? '' : this.#git(['diff-tree', '-r', '--name-only', last, tree]),
      this.#git(['ls-tree', '-r', '--long', '-z', tree]),
    ]);
    const blobs = sizes.split('\0').flatMap((line) => /^\d+ blob \w+ +(\d+)\t/.exec(line)?.[1] ?? []);
    const parents = last === null ? [] : ['-p', last];
    const commit = await this.#git(['commit-tree', tree, ...parents, '-F', '-'], { stdin: message });
    return {
      commit,
      tree,
      changedFiles: last === null ? null : changed.split('\n').filter((line) => line !== '').length,
      files: blobs.length,
      bytes: blobs.reduce((sum, length) => sum + Number(length), 0),
      secrets: sizes.split('\0').flatMap((line) => /\t((?:.*\/)?\.env(?:\.local|\.production)?)$/.exec(line)?.[1] ?? []),
      submodules,
    };
  }

  /** Returns the commit that was sent last; null if none was. */
  async lastSent(): Promise<string | null> {
    const { code, out } = await this.#run(['rev-parse', '--verify', '--quiet', 'refs/heads/sent']);
    return code === 0 ? out.trim() : null;
  }

  /**
   * Returns whether the branch still has the snapshot that was sent last. Otherwise somebody has pushed since, as from
   * another machine, so that a deployment would not deploy this folder.
   */
  async isLatest(target: Target): Promise<boolean> {
    const words = ['ls-remote', target.url, `refs/heads/${target.branch}`];
    const { code, out } = await this.#run(words, { environment: withToken(target), signal: target.signal });
    return code === 0 && out.split('\t')[0] === (await this.lastSent());
  }

  /**
   * Pushes a commit to a branch. The token reaches git in a variable of its environment, which no other user can read.
   * A commit that somebody else pushed in between is not overwritten: the snapshot becomes the next commit.
   */
  async push({ commit, tree }: Snapshot, target: Target): Promise<string> {
    const sent = await this.#push(commit, target);
    if (sent.code === 0) return this.#remember(commit);
    if (!/non-fast-forward|fetch first|rejected/.test(sent.err) || /pre-receive hook/.test(sent.err)) throw refused(sent.err);
    await this.#git(['fetch', '--quiet', target.url, target.branch], { environment: withToken(target) });
    const parent = await this.#git(['rev-parse', 'FETCH_HEAD']);
    const message = await this.#git(['log', '-1', '--format=%B', commit]);
    const next = await this.#git(['commit-tree', tree, '-p', parent, '-F', '-'], { stdin: message });
    const again = await this.#push(next, target);
    if (again.code !== 0) throw refused(again.err);
    return this.#remember(next);
  }

  /**
   * Remembers the commit that is being pushed as sent. A push lasts until the deployment has ended, and its caller may
   * leave before. If the commit has not arrived after all, `isLatest` says so.
   */
  async rememberPushed(): Promise<void> {
    if (this.#pushed !== null) await this.#remember(this.#pushed);
  }

  #push(commit: string, target: Target): Promise<GitEnded> {
    this.#pushed = commit;
    const words = ['push', '--progress', target.url, `${commit}:refs/heads/${target.branch}`];
    return this.#run(words, {
      environment: withToken(target),
      signal: target.signal,
      ...(target.onTalk && { onTalk: target.onTalk }),
    });
  }

  async #remember(commit: string): Promise<string> {
    await this.#git(['update-ref', 'refs/heads/sent', commit]);
    return commit;
  }

  async #prepare(): Promise<void> {
    await mkdir(path.dirname(this.#repository), { recursive: true, mode: 0o700 });
    // An existing repository is not changed by this.
    await git(['init', '--quiet', '--bare', this.#repository], { folder: this.#folder });
    const rules = ignoreRules(await readRules(path.join(this.#folder, '.dockerignore')));
    await mkdir(path.join(this.#repository, 'info'), { recursive: true });
    await writeFile(path.join(this.#repository, 'info/exclude'), `${rules}${await rulesFromAbove(this.#folder)}`);
  }

  /** Takes files out of the index that were sent before, and that a new rule names now. */
  async #leaveOutIgnored(): Promise<void> {
    const found = (await this.#git(['ls-files', '--cached', '--ignored', '--exclude-standard', '-z'])).split('\0').slice(0, -1);
    if (found.length === 0) return;
    const words = ['rm', '--quiet', '--cached', '--force', '--pathspec-from-file=-', '--pathspec-file-nul'];
    await this.#git(words, { stdin: found.join('\0') });
  }

  /** Takes repositories inside the folder out of the index: their files are not part of this one. */
  async #leaveOutRepositories(): Promise<string[]> {
    const staged = await this.#git(['ls-files', '--stage', '-z']);
    const found = staged.split('\0').flatMap((line) => /^160000 [^\t]*\t(.*)$/s.exec(line)?.[1] ?? []);
    if (found.length > 0) await this.#git(['rm', '--quiet', '--cached', '--force', '--', ...found]);
    return found;
  }

  /** Returns the message of the folder's own last commit, which says more than one that is made up. */
  async #message(): Promise<string> {
    const options = { folder: this.#folder };
    const head = await runGit(['log', '-1', '--format=%s%n%n%b'], options);
    if (head.code !== 0 || head.out.trim() === '') return 'The files of the folder, sent by davit up';
    const { out } = await runGit(['status', '--porcelain'], options);
    const [subject = '', ...rest] = head.out.trim().split('\n');
    return [`${subject}${out.trim() === '' ? '' : ' (with changes that are not committed)'}`, ...rest].join('\n');
  }

  async #git(words: readonly string[], options: Partial<GitRun> = {}): Promise<string> {
    return git([...this.#location(), ...words], this.#options(options));
  }

  #run(words: readonly string[], options: Partial<GitRun> = {}): Promise<GitEnded> {
    return runGit([...this.#location(), ...words], this.#options(options));
  }

  #location(): string[] {
    // Larger files are sent whole: the server has little memory for a difference.
    const settings = ['core.bare=false', 'core.autocrlf=false', 'core.bigFileThreshold=16m'];
    return ['--git-dir', this.#repository, '--work-tree', this.#folder, ...settings.flatMap((setting) => ['-c', setting])];
  }

  #options(options: Partial<GitRun>): GitRun {
    return { folder: this.#folder, ...options, environment: { ...author, ...options.environment } };
  }
}

/** Where a snapshot is pushed to. */
export interface Target {
  readonly url: string;
  readonly branch: string;
  readonly token: string;
  /** Ends the push. */
  readonly signal: AbortSignal;
  readonly onTalk?: (text: string) => void;
}

const author = {
  GIT_AUTHOR_NAME: 'davit up',
  GIT_AUTHOR_EMAIL: 'davit@localhost',
  GIT_COMMITTER_NAME: 'davit up',
  GIT_COMMITTER_EMAIL: 'davit@localhost',
};

/** Returns the environment in which git signs in with the token. Other helpers, which would store it, are left out. */
function withToken({ token }: Target): Record<string, string> {
  return {
    DAVIT_PUSH_TOKEN: token,
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'credential.helper',
    GIT_CONFIG_VALUE_0: '',
    GIT_CONFIG_KEY_1: 'credential.helper',
    GIT_CONFIG_VALUE_1: `!f() { test "$1" = get && printf 'username=davit\\npassword=%s\\n' "$DAVIT_PUSH_TOKEN"; }; f`,
  };
}

/** Returns the text of a file of rules; an empty one if there is none. Fails if the rules cannot be read. */
async function readRules(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw new CliError(`${file} cannot be read (${codeOf(error)}), so that it is not known which files are left out.`);
  }
}

function refused(text: string): Error {
  const lines = text.split(/[\r\n]+/).filter((line) => /^(remote: |fatal: |error: | ! )/.test(line));
  return new Error(lines.map((line) => line.replace(/^remote: /, '').trimEnd()).join('\n') || text.trim());
}
