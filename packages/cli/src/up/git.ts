import { CliError, codeOf } from '../errors.ts';

export interface GitRun {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Ends git. */
  readonly signal?: AbortSignal;
  /** Called with what git writes to stderr, such as the progress of a push. */
  readonly onTalk?: (text: string) => void;
}

export interface GitEnded {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Settings of the caller's repository that would lead git to another one. */
const inherited = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES'];

/** Runs git; returns its exit code and what it wrote. Fails if git is not installed. */
export function runGit(
  words: readonly string[],
  { folder, environment = {}, stdin = '', signal, onTalk }: GitRun,
): Promise<GitEnded> {
  const env: NodeJS.ProcessEnv = { ...process.env };
  for (const name of inherited) delete env[name];
  // Messages are compared, and git must never ask on the terminal.
  Object.assign(env, { LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' }, environment);
  // Commands that send no folder need not load the module.
  const { spawn } = process.getBuiltinModule('node:child_process');
  return new Promise((resolve, reject) => {
    const child = spawn('git', words, { cwd: folder, env, ...(signal && { signal }) });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
      onTalk?.(text);
    });
    child.stdin.on('error', () => undefined).end(stdin);
    child.on('error', (error) => {
      const isMissing = codeOf(error) === 'ENOENT';
      const advice = isMissing ? ['Install git: davit up sends the folder with it.'] : [];
      reject(new CliError(isMissing ? 'git is not installed.' : `git cannot be run: ${error.message}`, { advice }));
    });
    child.on('close', (code) => resolve({ code: code ?? 1, out, err }));
  });
}

/** Runs git and returns its output without the line break at the end. Fails with what git reports. */
export async function git(words: readonly string[], options: GitRun): Promise<string> {
  const { code, out, err } = await runGit(words, options);
  if (code !== 0) throw new CliError(`git failed: ${err.trim()}`);
  return out.replace(/\n$/, '');
}
