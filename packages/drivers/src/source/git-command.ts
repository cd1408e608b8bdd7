import { spawn } from 'node:child_process';
import type { Buffer } from 'node:buffer';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { largestFileBytes } from './disk-size.ts';
import type { OnProgress } from './git-progress.ts';
import { processesOf, watch, type Exceeded, type GitLimits } from './git-watch.ts';
import type { ProxyPass } from './git-proxy.ts';
import type { Repository } from './repository-url.ts';

/** Result of a git process. `timedOut`: it was silent for too long and was killed. */
export interface GitResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** The limit for which git was killed because it exceeded it; null: none. */
  readonly exceeded: Exceeded | null;
  /** The host that git was not allowed to connect to; null: none. */
  readonly refusedHost: string | null;
}

export interface GitOptions {
  readonly signal: AbortSignal;
  /** Kills git after it has written nothing for this many milliseconds. Default: 120,000. */
  readonly idleMilliseconds?: number;
  readonly onProgress?: OnProgress | undefined;
}

/**
 * Runs git with its own configuration, in which neither users of this machine nor a repository can make it start a
 * program.
 */
export interface Git {
  run(args: readonly string[], options: GitOptions): Promise<GitResult>;
  /** Removes the configuration. */
  close(): Promise<void>;
}

/** Returns the transports of a command. A submodule of a pushed repository must not name a folder of this machine. */
function protocolsFor(command: string, { isLocal, isOwn }: Repository): string {
  if (isOwn === true && (command === 'submodule' || command === 'lfs')) return 'http:https';
  return isLocal ? 'http:https:file' : 'http:https';
}

const outputLimit = 32 * 1024 * 1024;

/**
 * Opens git for one repository. The credentials exist only in the environment of the processes, and git sends them to
 * `origin` only.
 */
export async function openGit(repository: Repository, limits: GitLimits, pass: ProxyPass | null = null): Promise<Git> {
  const home = await mkdtemp(join(tmpdir(), 'davit-git-'));
  await writeFile(join(home, '.gitconfig'), configuration(repository), { mode: 0o600 });
  const env = environment(home, repository, pass);
  return {
    run: async (args, options) => {
      const command = args[0] === '-C' ? (args[2] ?? '') : (args[0] ?? '');
      const isRemote = remoteCommands.has(command);
      const allowed = isRemote ? protocolsFor(command, repository) : 'none';
      const folder = isRemote && args[0] === '-C' ? (args[1] ?? null) : null;
      const result = await runGit(args, { ...env, GIT_ALLOW_PROTOCOL: allowed }, { ...options, folder, limits });
      const exceeded = result.exceeded ?? ((await hasReachedFileLimit(result, folder, limits)) ? 'diskBytes' : null);
      return { ...result, exceeded, refusedHost: result.code === 0 ? null : (pass?.refused() ?? null) };
    },
    close: () => rm(home, { recursive: true, force: true }),
  };
}

/*
 * All other commands work on this machine only. In a partial clone git would fetch the objects that such a command
 * misses, and each of these fetches would fetch its own missing objects: a host that serves nothing makes git start
 * thousands of processes. These commands therefore get no transport. Git versions that support it (2.39.4, 2.45) make
 * no automatic fetch at all.
 */
const remoteCommands: ReadonlySet<string> = new Set(['fetch', 'ls-remote', 'submodule', 'lfs']);

// A file, as git drops `-c` and GIT_CONFIG_COUNT for submodules, where the settings matter as much. The file contains
// no secret: the credential helper reads them from the environment, and git calls it for this origin only, even after
// redirects.
function configuration(repository: Repository): string {
  const helper = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$DAVIT_GIT_USERNAME" "$DAVIT_GIT_PASSWORD"; }; f`;
  return [
    '[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tautocrlf = false\n\tpager = cat',
    '[init]\n\tdefaultBranch = main',
    '[advice]\n\tdetachedHead = false',
    // Git stores each fetch as one pack, however small: packs are kept for the next checkout.
    '[fetch]\n\tunpackLimit = 1',
    '[gc]\n\tauto = 0',
    '[maintenance]\n\tauto = false',
    '[http]\n\tfollowRedirects = initial\n\tlowSpeedLimit = 100\n\tlowSpeedTime = 60',
    '[protocol]\n\tversion = 2',
    // Settings for serving a local repository: by commit id, and regardless of the owner of its folder.
    '[safe]\n\tdirectory = *',
    '[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true',
    ...(repository.credentials ? [`[credential ${quote(repository.origin)}]\n\thelper = ${quote(helper)}`] : []),
    '',
  ].join('\n');
}

function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function environment(home: string, repository: Repository, pass: ProxyPass | null): Record<string, string> {
  // Inherits only the variables needed to reach a host: GIT_* of the caller (a hook, a test) would change what git
  // does.
  const kept = [
    'PATH',
    'TMPDIR',
    'http_proxy',
    'https_proxy',
    'no_proxy',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'NO_PROXY',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
  ];
  const env: Record<string, string> = {
    HOME: home,
    XDG_CONFIG_HOME: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    GIT_NO_LAZY_FETCH: '1',
  };
  for (const name of kept) if (process.env[name] !== undefined) env[name] = process.env[name];
  if (pass !== null)
    Object.assign(env, {
      http_proxy: pass.url,
      https_proxy: pass.url,
      HTTP_PROXY: pass.url,
      HTTPS_PROXY: pass.url,
      no_proxy: '',
      NO_PROXY: '',
    });
  if (repository.credentials) {
    env['DAVIT_GIT_USERNAME'] = repository.credentials.username;
    env['DAVIT_GIT_PASSWORD'] = repository.credentials.password.reveal();
  }
  return env;
}

interface RunOptions extends GitOptions {
  /** Folder that grows during the command; null: none. */
  readonly folder: string | null;
  readonly limits: GitLimits;
}

function runGit(
  args: readonly string[],
  env: Record<string, string>,
  options: RunOptions,
): Promise<Omit<GitResult, 'refusedHost'>> {
  options.signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    // A session of its own: git starts git-remote-https, index-pack and others, which must be killed with it.
    const [program, given] = withFileLimit(args, options);
    const child = spawn(program, given, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const output = { stdout: '', stderr: '' };
    let timedOut = false;
    let exceeded: Exceeded | null = null;
    const kill = (): void => killSession(child.pid);
    const { folder, limits } = options;
    const onExceeded = (what: Exceeded): void => {
      exceeded ??= what;
      kill();
    };
    const unwatch = child.pid === undefined ? undefined : watch({ session: child.pid, folder, limits, onExceeded });
    const idle = setTimeout(() => {
      timedOut = true;
      kill();
    }, options.idleMilliseconds ?? 120_000);
    options.signal.addEventListener('abort', kill, { once: true });
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', (chunk: Buffer) => {
        idle.refresh();
        const text = chunk.toString('utf8');
        if (output[name].length < outputLimit) output[name] += text;
        if (name === 'stderr') options.onProgress?.(text);
      });
    }
    const finish = (): void => {
      clearTimeout(idle);
      unwatch?.();
      options.signal.removeEventListener('abort', kill);
    };
    child.once('error', (error) => {
      finish();
      reject(error);
    });
    child.once('close', (code) => {
      finish();
      if (options.signal.aborted) reject(abortReason(options.signal));
      else resolve({ code: code ?? 128, ...output, timedOut, exceeded });
    });
  });
}

/**
 * Returns git with its arguments. If a folder grows, it is a shell that becomes git with a limit of the largest file.
 * The watch measures twice a second, and a pack, the one file that a host can make large, grows by hundreds of
 * megabytes meanwhile.
 */
function withFileLimit(args: readonly string[], { folder, limits }: Pick<RunOptions, 'folder' | 'limits'>): [string, string[]] {
  if (folder === null) return ['git', [...args]];
  // POSIX shells count in blocks of 512 bytes. A lower limit of the caller stays.
  return ['/bin/sh', ['-c', `ulimit -f ${fileBlocks(limits)} 2>/dev/null; exec git "$@"`, 'git', ...args]];
}

function fileBlocks({ diskBytes }: GitLimits): number {
  return Math.ceil(diskBytes / 512);
}

/**
 * Returns whether a command failed because a file reached the limit. The process that writes a pack is killed by a
 * signal then, and leaves its file. Not every git reports that: `fetch-pack` only misses the output of `index-pack`.
 */
async function hasReachedFileLimit(
  { code, stderr }: Pick<GitResult, 'code' | 'stderr'>,
  folder: string | null,
  limits: GitLimits,
): Promise<boolean> {
  if (code === 0 || folder === null) return false;
  return /File too large/i.test(stderr) || (await largestFileBytes(folder)) >= fileBlocks(limits) * 512;
}

// SIGKILL at once: git's output is deleted with its folder anyway, and a slow reaction to SIGTERM would delay a cancel.
function killSession(pid: number | undefined): void {
  if (pid === undefined) return;
  killOne(-pid);
  // A helper may have created its own process group; the session stays the same.
  for (const id of processesOf(pid)) killOne(id);
}

function killOne(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error; // ESRCH: the process has exited.
  }
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted');
}
