import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { setTimeout as pauseFor } from 'node:timers/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { CommandLimits } from '../terraform-driver.ts';
import { killControlGroup, makeControlGroup, newGroupName, removeControlGroup, type GroupLimits } from './control-group.ts';
import { LastLines, LineSplitter } from './lines.ts';

export interface Command {
  readonly program: string;
  readonly arguments: readonly string[];
  readonly folder: string;
  /** All that the program sees: nothing of Davit's own environment is added. */
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: CommandLimits;
  /** Stops the program: first it is asked to, later it is killed. */
  readonly signal: AbortSignal;
  /** Kills it at once, in place of asking: another process takes up what it does, and must not do it beside it. */
  readonly kill?: AbortSignal | undefined;
  readonly onLine: (line: string) => void;
  /** Its standard output is wanted whole, and is none of its lines: it may be secret. One that prints too much is stopped. */
  readonly isCaptured?: boolean;
}

export interface CommandEnd {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
  /** The last lines of both outputs; of the standard output none where it is captured. */
  readonly lines: readonly string[];
  /** The whole standard output where it is captured; empty otherwise. */
  readonly output: string;
  /** It printed more than can be taken, and was stopped for it: in words that follow the name of the command. null: it did not. */
  readonly excess: string | null;
}

/** Processes and threads of a program with all that it starts. */
const mostProcesses = 4096;
const keptLines = 60;
const keptLength = 512 * 1024;
const largestOutput = 16 * 1024 * 1024;

/*
 * The program runs under a shell that watches standard input: its end means to stop. So a program does not go on alone when the
 * process of Davit dies, and is then as free to end in order as when a user cancels. The shell's own id is in the file davit.pid.
 */
const wrapper = `
ulimit -f "$1"; grace="$2"; pidfile="$3"; groups="$4"; shift 4
for group in $groups; do echo $$ > "$group/cgroup.procs"; done
echo $$ > "$pidfile"
"$@" < /dev/null &
child=$!
exec 3<&0
( cat <&3 > /dev/null; kill -TERM $child; sleep "$grace"; kill -KILL $child ) > /dev/null 2>&1 &
watcher=$!
wait $child
code=$?
kill -KILL $watcher 2> /dev/null
rm -f "$pidfile"
exit $code
`;

/** Runs a program to its end, whatever that is. Rejects only when it cannot be started. */
export async function runCommand(command: Command, pidFile: string): Promise<CommandEnd> {
  const group = newGroupName('run');
  const folders = await makeControlGroup(group, groupLimits(command.limits));
  try {
    return await runWithin(command, pidFile, folders ?? []);
  } finally {
    // What a program leaves behind is ended with it. A program that outlives Davit keeps its group until it has ended.
    if (folders !== null) {
      for (let tries = 0; tries < 50 && (await killControlGroup(group)) > 0; tries += 1) await pauseFor(20);
      await removeControlGroup(group);
    }
  }
}

/**
 * What the runtime of Go keeps to holds for each process by itself, and only as long as it can: a program and its plugins together get
 * four times that, at least 2 GiB, and are ended by the kernel above it.
 */
function groupLimits({ memoryMiB }: CommandLimits): GroupLimits {
  return { processes: mostProcesses, memoryBytes: Math.max(4 * memoryMiB, 2048) * 2 ** 20 };
}

async function runWithin(command: Command, pidFile: string, groups: readonly string[]): Promise<CommandEnd> {
  const { storageGiB, graceSeconds } = command.limits;
  const blocks = String(Math.max(1, storageGiB) * 2_097_152);
  const shell = [
    '-c',
    wrapper,
    'davit',
    blocks,
    String(graceSeconds),
    pidFile,
    groups.join(' '),
    command.program,
    ...command.arguments,
  ];
  const child = spawn('/bin/sh', shell, {
    cwd: command.folder,
    env: { ...command.environment, ...limitVariables(command.limits) },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const kept = new LastLines(keptLines, keptLength);
  const take = (line: string): void => {
    kept.add(line);
    command.onLine(line);
  };
  const [said, warned] = [new LineSplitter(take), new LineSplitter(take)];
  const output: Buffer[] = [];
  let length = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    if (command.isCaptured !== true) {
      said.write(chunk);
      return;
    }
    length += chunk.length;
    if (length <= largestOutput) output.push(chunk);
    else stop();
  });
  child.stderr.on('data', (chunk: Buffer) => warned.write(chunk));
  // A program that is gone already cannot be told to stop.
  child.stdin.on('error', () => undefined);
  let killing: NodeJS.Timeout | undefined;
  const stop = (): void => {
    child.stdin.end();
    killing ??= setTimeout(() => killGroup(child.pid), (graceSeconds + 5) * 1_000);
  };
  const kill = (): void => killGroup(child.pid);
  if (command.kill?.aborted === true) kill();
  else command.kill?.addEventListener('abort', kill, { once: true });
  if (command.signal.aborted) stop();
  else command.signal.addEventListener('abort', stop, { once: true });
  try {
    return await new Promise<CommandEnd>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        for (const splitter of [said, warned]) splitter.end();
        const excess = length > largestOutput ? `printed more than ${largestOutput / 2 ** 20} MiB, and was stopped` : null;
        const text = excess === null ? Buffer.concat(output).toString('utf8') : '';
        resolve({ code: code ?? -1, signal, lines: kept.lines, output: text, excess });
      });
    });
  } finally {
    clearTimeout(killing);
    command.signal.removeEventListener('abort', stop);
    command.kill?.removeEventListener('abort', kill);
    child.stdin.destroy();
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Read by the runtime of Go, in which Terraform, its providers and Helm are written. */
export function limitVariables({ cpuMillicores, memoryMiB }: CommandLimits): Record<string, string> {
  return {
    GOMAXPROCS: String(Math.max(1, Math.ceil(cpuMillicores / 1000))),
    GOMEMLIMIT: `${Math.max(64, Math.floor(memoryMiB * 0.9))}MiB`,
  };
}

/** What of Davit's environment programs need to reach the world. */
export function passedOn(): Record<string, string> {
  const names = [
    'PATH',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'NO_PROXY',
    'http_proxy',
    'https_proxy',
    'no_proxy',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
  ];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
}

/** The path of a program that is named, or found in PATH by its name; null: there is none that can be run. */
export async function findInPath(name: string): Promise<string | null> {
  const paths = isAbsolute(name) ? [name] : (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
  for (const path of paths) {
    const works = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (works) return resolve(path);
  }
  return null;
}
