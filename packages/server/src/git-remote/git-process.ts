import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** Returns the environment of git: nothing of the user's or the machine's configuration applies. */
export function gitEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C',
    ...extra,
  };
}

/** A process of git that serves one request. */
export interface GitProcess {
  readonly input: Writable;
  readonly output: Readable;
  /** The report of a push's hook: a line for each reference, then the line `end`. Ends with git. */
  readonly report: Readable;
  /** Lines for the hook to print. The hook ends when the stream ends. */
  readonly answer: Writable;
  /** Resolves when the process has ended, with its last words if it failed. */
  readonly ended: Promise<string | null>;
  stop(): void;
}

export type GitService = 'upload-pack' | 'receive-pack';

export interface GitRequest {
  readonly service: GitService;
  readonly folder: string;
  /** Whether only the references are listed. */
  readonly isListing: boolean;
  /** The protocol that the client asks for, from its header. */
  readonly protocol: string | null;
  readonly branch: string;
  /** Bytes that git may allocate at once; null: as many as it needs. */
  readonly allocation: number | null;
}

const lastWords = 2000;

/** Starts git for a request. Fails if git cannot be started. */
export async function startGit({ service, folder, isListing, protocol, branch, allocation }: GitRequest): Promise<GitProcess> {
  // A client that sends nothing must not keep a process.
  const args = [
    service,
    ...(service === 'upload-pack' ? ['--timeout=120'] : []),
    '--stateless-rpc',
    ...(isListing ? ['--http-backend-info-refs'] : []),
    folder,
  ];
  const child = spawn('git', args, {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    // In a group of its own, so that its helpers and hooks end with it.
    detached: true,
    env: gitEnvironment({
      DAVIT_BRANCH: branch,
      // Several versions of Davit may use one repository during an upgrade. The hooks are those of the newest one.
      DAVIT_RECORDS: 'true',
      ...(protocol === null ? {} : { GIT_PROTOCOL: protocol }),
      ...(allocation === null ? {} : { GIT_ALLOC_LIMIT: String(allocation) }),
    }),
  });
  await started(child);
  const [input, output, errors, report, answer] = child.stdio;
  let words = '';
  errors?.on('data', (chunk: Buffer) => (words = `${words}${chunk.toString()}`.slice(-lastWords)));
  const ended = new Promise<string | null>((resolve) =>
    child.once('close', (code) => resolve(code === 0 ? null : words.trim() || `git ended with code ${code}`)),
  );
  for (const stream of [input, answer]) stream?.on('error', () => undefined); // The process has ended; `ended` says why.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all descriptors are pipes
  const streams = { input, output, report, answer } as Pick<GitProcess, 'input' | 'output' | 'report' | 'answer'>;
  return { ...streams, ended, stop: () => stop(child) };
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
}

function stop({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGTERM');
  } catch {
    // The group has ended in the meantime.
  }
}
