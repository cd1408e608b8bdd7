import { readdirSync, readFileSync, renameSync, linkSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { abortablePause } from '@davit/base';

/**
 * Returns when a process started, in ticks since the machine booted; '' if it has exited. The start time distinguishes
 * it from a later process with the same id.
 */
export function startOf(id: number | 'self'): string {
  const fields = statusOf(id);
  // A zombie has exited too; its parent has not reaped it yet.
  return fields[0] === 'Z' ? '' : (fields[19] ?? '');
}

/** Returns the process group of a process, which is the id of the group's leader; NaN if the process has exited. */
export function groupOf(id: number): number {
  return Number(statusOf(id)[2]);
}

/**
 * Returns the fields of /proc/<id>/stat from the third one on. The second one is the name in parentheses and may
 * contain anything.
 */
function statusOf(id: number | 'self'): string[] {
  const status = readOrNull(`/proc/${id}/stat`);
  return status === null ? [] : status.slice(status.lastIndexOf(')') + 2).split(' ');
}

/**
 * Returns the processes of this machine whose arguments include all of these, the most recently started first. Zombies
 * are omitted.
 */
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

/**
 * Ends a process by SIGTERM, then after `graceMilliseconds` by SIGKILL, and resolves once it has exited. Succeeds if it
 * has already exited.
 */
export async function endProcess(id: number, graceMilliseconds: number, signal: AbortSignal): Promise<void> {
  const start = startOf(id);
  const isThere = (): boolean => start !== '' && startOf(id) === start;
  const deadline = Date.now() + graceMilliseconds;
  for (let word: NodeJS.Signals = 'SIGTERM'; isThere(); word = Date.now() > deadline ? 'SIGKILL' : 'SIGTERM') {
    try {
      process.kill(id, word);
    } catch {
      return; // The process has exited meanwhile, or belongs to another user.
    }
    for (let tries = 0; tries < 10 && isThere(); tries += 1) await abortablePause(20, signal);
  }
}

/**
 * Runs an action under an exclusive lock, held against other processes and other calls of this process that use the
 * same file. A lock of a process that has exited is taken over. Waits for the lock until the signal aborts. Nobody else
 * may have write permission on the folder of the file.
 */
export async function withLock<Result>(file: string, signal: AbortSignal, action: () => Promise<Result>): Promise<Result> {
  const own = `${process.pid} ${startOf('self')} ${randomUUID()}`;
  while (!take(file, own)) await abortablePause(25, signal);
  try {
    return await action();
  } finally {
    if (readOrNull(file) === own) rmSync(file, { force: true });
  }
}

function take(file: string, own: string): boolean {
  const held = readOrNull(file);
  if (held === null) return linkInto(file, own);
  const [id = '', start = ''] = held.split(' ');
  // An empty file is from a version that wrote the content later, and was killed in between.
  if (held === '' || startOf(Number(id)) !== start) removeIf(file, held);
  return false;
}

/** Makes the file with its content in one step: a process that is killed in between leaves no empty file behind. */
function linkInto(file: string, content: string): boolean {
  const draft = `${file}-${randomUUID()}`;
  writeFileSync(draft, content, { flag: 'wx', mode: 0o600 });
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes a stale lock, unless another process has acquired it since it was read. */
function removeIf(file: string, content: string): void {
  const aside = `${file}-${randomUUID()}`;
  try {
    renameSync(file, aside);
    if (readOrNull(aside) !== content) linkSync(aside, file);
  } catch {
    // The lock has been removed, or acquired again.
  }
  rmSync(aside, { force: true });
}

/** Returns the text of a file; null if it cannot be read. */
export function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
