import { spawn } from 'node:child_process';
import type { Buffer } from 'node:buffer';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processesOf, watch, type Exceeded, type GitLimits } from './git-watch.ts';
import type { ProxyPass } from './git-proxy.ts';
import type { Repository } from './repository-url.ts';

/** What a git process ended with. `timedOut`: it was silent for too long and was ended. */
export interface GitResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** The limit that it went over and was ended for; null: none. */
  readonly exceeded: Exceeded | null;
  /** The host that it was not allowed to connect to; null: none. */
  readonly refusedHost: string | null;
}

export interface GitOptions {
  readonly signal: AbortSignal;
  /** Ended when it has written nothing for so long. Default: 120,000. */
  readonly idleMilliseconds?: number;
}

/** Runs git with a configuration of its own, in which nothing of this machine's users or of a repository can start a program. */
export interface Git {
  run(args: readonly string[], options: GitOptions): Promise<GitResult>;
  /** Removes the configuration. */
  close(): Promise<void>;
}

const outputLimit = 32 * 1024 * 1024;

/** A git for one repository. Credentials are in the environment of the processes only, and git gives them to `origin` only. */
export async function openGit(repository: Repository, limits: GitLimits, pass: ProxyPass | null = null): Promise<Git> {
  const home = await mkdtemp(join(tmpdir(), 'davit-git-'));
  await writeFile(join(home, '.gitconfig'), configuration(repository), { mode: 0o600 });
  const env = environment(home, repository, pass);
  return {
    run: async (args, options) => {
      const isRemote = remoteCommands.has(args[0] === '-C' ? (args[2] ?? '') : (args[0] ?? ''));
      const folder = isRemote && args[0] === '-C' ? (args[1] ?? null) : null;
      const result = await runGit(args, isRemote ? env : { ...env, GIT_ALLOW_PROTOCOL: 'none' }, { ...options, folder, limits });
      return { ...result, refusedHost: result.code === 0 ? null : (pass?.refused() ?? null) };
    },
    close: () => rm(home, { recursive: true, force: true }),
  };
}

/*
 * All others work on this machine alone. In a partial clone git would fetch what such a command misses, and each of these fetches what it
 * misses in turn: a host that gives out nothing has thousands of processes started so. They have no transport, and no fetch is made
 * by itself at all where git knows how to be told (2.39.4, 2.45).
 */
const remoteCommands: ReadonlySet<string> = new Set(['fetch', 'ls-remote', 'submodule', 'lfs']);

// A file instead of `-c`: git drops `-c` and GIT_CONFIG_COUNT for submodules, and there they matter as much. It holds no
// secret: the helper takes them from the environment, and git itself asks it for this origin only, redirects included.
function configuration(repository: Repository): string {
  const helper = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$DAVIT_GIT_USERNAME" "$DAVIT_GIT_PASSWORD"; }; f`;
  return [
    '[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tautocrlf = false\n\tpager = cat',
    '[init]\n\tdefaultBranch = main',
    '[advice]\n\tdetachedHead = false',
    '[gc]\n\tauto = 0',
    '[maintenance]\n\tauto = false',
    '[http]\n\tfollowRedirects = initial\n\tlowSpeedLimit = 100\n\tlowSpeedTime = 60',
    '[protocol]\n\tversion = 2',
    // What a local repository is served with: by commit id, and whoever owns its folder.
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
  // Nothing is inherited but what reaching a host needs: GIT_* of the caller (a hook, a test) would change what git does.
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
    GIT_ALLOW_PROTOCOL: repository.isLocal ? 'http:https:file' : 'http:https',
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
  /** What grows with it; null: nothing. */
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
    // A session of its own: git starts git-remote-https, index-pack and others, which must end with it.
    const child = spawn('git', args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
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
        if (output[name].length < outputLimit) output[name] += chunk.toString('utf8');
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

// SIGKILL at once: what it writes is thrown away with its folder, and a SIGTERM that is slow to work would hold up a cancel.
function killSession(pid: number | undefined): void {
  if (pid === undefined) return;
  killOne(-pid);
  // A helper may have made a group of its own; the session stays.
  for (const id of processesOf(pid)) killOne(id);
}

function killOne(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error; // ESRCH: it has ended meanwhile.
  }
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted');
}
