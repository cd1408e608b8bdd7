import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** A process as listed in `/proc`. */
export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  readonly commandLine: string;
  readonly folder: string;
}

/** Returns all processes of this machine that are readable. */
function listProcesses(): Process[] {
  return readdirSync('/proc').flatMap((entry) => {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) return [];
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // The name stands in parentheses and may hold blanks and parentheses itself.
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z') return [];
      const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
      const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return [{ pid, parent: Number(parent), name, commandLine, folder: readlinkSync(`/proc/${pid}/cwd`) }];
    } catch {
      return []; // The process exited while it was read.
    }
  });
}

/** Returns a process and all its descendants. */
export function withDescendants(pid: number): Process[] {
  const all = listProcesses();
  const found = all.filter((process) => process.pid === pid);
  for (const process of found) found.push(...all.filter(({ parent }) => parent === process.pid));
  return found;
}

/**
 * Returns the processes that have this folder as working directory or on their command line, except the current
 * process.
 */
export function processesOf(folder: string): Process[] {
  return listProcesses().filter(
    (found) =>
      found.pid !== process.pid && (found.commandLine.includes(`${folder}/`) || `${found.folder}/`.startsWith(`${folder}/`)),
  );
}

/**
 * Returns the memory of a process in MB: the resident set size, and the proportional set size, which divides shared
 * pages among their users.
 */
export function memoryOf(pid: number): { readonly resident: number; readonly proportional: number } {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? Number.NaN) / 1024;
  return { resident: field('Rss'), proportional: field('Pss') };
}

/** Returns the CPU time that a process has used so far, in seconds. */
export function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Fields 14 and 15 of proc(5) are in ticks. Linux has 100 ticks a second on all platforms that Node.js supports.
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Sends a signal and waits until the process has exited; sends SIGKILL after 20 s. */
export async function end(pid: number, signal: NodeJS.Signals): Promise<void> {
  const deadline = performance.now() + 20_000;
  for (let sent: NodeJS.Signals | null = null; ;) {
    const wanted = performance.now() > deadline ? 'SIGKILL' : signal;
    try {
      if (sent !== wanted) process.kill(pid, wanted);
      else if (!listProcesses().some((found) => found.pid === pid)) return;
    } catch {
      return; // The process has exited.
    }
    sent = wanted;
    await pause(5);
  }
}
