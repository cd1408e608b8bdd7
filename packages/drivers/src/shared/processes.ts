import { readdirSync, readFileSync, renameSync, linkSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { pause } from './pause.ts';

/** Returns when a process started, in ticks since the machine booted; '' once it has ended. With it, a later process of the same id is not mistaken for it. */
export function startOf(id: number | 'self'): string {
  const fields = statusOf(id);
  // A zombie has ended, too; its parent has not noticed yet.
  return fields[0] === 'Z' ? '' : (fields[19] ?? '');
}

/** The process group of a process, which is the id of its leader. NaN when it has ended. */
export function groupOf(id: number): number {
  return Number(statusOf(id)[2]);
}

/** Fields of /proc/<id>/stat from the third one on: the second one is the name in parentheses and may hold anything. */
function statusOf(id: number | 'self'): string[] {
  const status = readOrNull(`/proc/${id}/stat`);
  return status === null ? [] : status.slice(status.lastIndexOf(')') + 2).split(' ');
}

/** Processes of this machine whose arguments include all of these, the one that started last first. Zombies are left out. */
export function processesWith(...wanted: readonly string[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((id) => {
      const given = new Set((readOrNull(`/proc/${id}/cmdline`) ?? '').split('\0'));
      return wanted.every((argument) => given.has(argument)) && startOf(id) !== '';
    })
    .toSorted((a, b) => Number(startOf(b)) - Number(startOf(a)) || b - a);
}

/** Ends a process by SIGTERM, after `graceMilliseconds` by SIGKILL, and resolves when it has ended. One that has ended is fine. */
export async function endProcess(id: number, graceMilliseconds: number, signal: AbortSignal): Promise<void> {
  const start = startOf(id);
  const isThere = (): boolean => start !== '' && startOf(id) === start;
  const deadline = Date.now() + graceMilliseconds;
  for (let word: NodeJS.Signals = 'SIGTERM'; isThere(); word = Date.now() > deadline ? 'SIGKILL' : 'SIGTERM') {
    try {
      process.kill(id, word);
    } catch {
      return; // It has ended meanwhile, or is not ours to end.
    }
    for (let tries = 0; tries < 10 && isThere(); tries += 1) await pause(20, signal);
  }
}

/**
 * Does something while no other process, and no other call of this one, does so under the same file. The lock of a process that has
 * ended is taken over. Waits for its turn until the signal aborts. The folder of the file must be writable for nobody else.
 */
export async function withLock<Result>(file: string, signal: AbortSignal, action: () => Promise<Result>): Promise<Result> {
  const own = `${process.pid} ${startOf('self')} ${randomUUID()}`;
  while (!take(file, own)) await pause(25, signal);
  try {
    return await action();
  } finally {
    if (readOrNull(file) === own) rmSync(file, { force: true });
  }
}

function take(file: string, own: string): boolean {
  try {
    writeFileSync(file, own, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const held = readOrNull(file);
  const [id = '', start = ''] = held?.split(' ') ?? [];
  // Empty: it is being written just now, or its writer ended in between; the latter is found by the next start of this machine.
  if (held !== null && held !== '' && startOf(Number(id)) !== start) removeIf(file, held);
  return false;
}

/** Another process may have taken the lock over since it was read: then that one stays. */
function removeIf(file: string, content: string): void {
  const aside = `${file}-${randomUUID()}`;
  try {
    renameSync(file, aside);
    if (readOrNull(aside) !== content) linkSync(aside, file);
  } catch {
    // It is gone, or taken once more.
  }
  rmSync(aside, { force: true });
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
