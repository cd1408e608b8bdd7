import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { pause } from '@davit/base';
import type { CommandLimits } from '../terraform-driver.ts';
import { killControlGroup, makeControlGroup, newGroupName, removeControlGroup, type GroupLimits } from './control-group.ts';
import { LastLines, LineSplitter } from './lines.ts';

export interface Command {
  readonly program: string;
  readonly arguments: readonly string[];
  readonly folder: string;
  /** The whole environment of the program; Davit's own environment is not inherited. */
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: CommandLimits;
  /** Stops the program: first gracefully, later by SIGKILL. */
  readonly signal: AbortSignal;
  /**
   * Kills the program at once, without a graceful stop: another process takes over its work, and the two must not run
   * at the same time.
   */
  readonly kill?: AbortSignal | undefined;
  readonly onLine: (line: string) => void;
  /**
   * Captures the whole standard output instead of adding it to the lines: it may be secret. A program that prints too
   * much is stopped.
   */
  readonly isCaptured?: boolean;
}

export interface CommandEnd {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
  /** The last lines of both outputs; without the standard output if that is captured. */
  readonly lines: readonly string[];
  /** The whole standard output if it is captured; otherwise empty. */
  readonly output: string;
  /**
   * Set if the program was stopped because it printed too much: a text that follows the name of the command. Otherwise
   * null.
   */
  readonly excess: string | null;
}

/** Most processes and threads of a program, including all its descendants. */
const maxProcesses = 4096;
const keptLines = 60;
const keptLength = 512 * 1024;
const largestOutput = 16 * 1024 * 1024;

/*
 * The program runs under a shell that watches standard input. The end of that input means to stop: so the program does
 * not keep running alone when the Davit process dies, and can still stop as gracefully as when a user cancels. The file
 * davit.pid contains the id of the shell.
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

/** Runs a program until it exits, whatever its exit code. Rejects only if the program cannot be started. */
export async function runCommand(command: Command, pidFile: string): Promise<CommandEnd> {
  const group = newGroupName('run');
  const folders = await makeControlGroup(group, groupLimits(command.limits));
  try {
    return await runWithin(command, pidFile, folders ?? []);
  } finally {
    // Processes that a program leaves behind are ended with it. A program that outlives Davit keeps its control group
    // until it exits.
    if (folders !== null) {
      for (let tries = 0; tries < 50 && (await killControlGroup(group)) > 0; tries += 1) await pause(20);
      await removeControlGroup(group);
    }
  }
}

/**
 * Returns the limits of the control group. The Go runtime applies its memory limit to each process separately, and only
 * as far as it can. A program and its plugins together therefore get four times that limit, at least 2 GiB; above it
 * the kernel kills them.
 */
function groupLimits({ memoryMiB }: CommandLimits): GroupLimits {
  return { processes: maxProcesses, memoryBytes: Math.max(4 * memoryMiB, 2048) * 2 ** 20 };
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
  const [printed, warned] = [new LineSplitter(take), new LineSplitter(take)];
  const output: Buffer[] = [];
  let length = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    if (command.isCaptured !== true) {
      printed.write(chunk);
      return;
    }
    length += chunk.length;
    if (length <= largestOutput) output.push(chunk);
    else stop();
  });
  child.stderr.on('data', (chunk: Buffer) => warned.write(chunk));
  // If the program has already exited, writing to it fails.
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
        for (const splitter of [printed, warned]) splitter.end();
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
    // The program has exited.
  }
}

/** Returns variables for the Go runtime; Terraform, its providers and Helm are written in Go. */
export function limitVariables({ cpuMillicores, memoryMiB }: CommandLimits): Record<string, string> {
  return {
    GOMAXPROCS: String(Math.max(1, Math.ceil(cpuMillicores / 1000))),
    GOMEMLIMIT: `${Math.max(64, Math.floor(memoryMiB * 0.9))}MiB`,
  };
}

/** Returns the variables of Davit's environment that programs need to reach the network. */
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

/** Returns the path of a program, given by its path or by its name in PATH; null if no such program is executable. */
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
