import { readdirSync, readFileSync } from 'node:fs';
import { diskBytes } from './disk-size.ts';

/** What a git command may take; it is ended when it takes more. */
export interface GitLimits {
  /** Of a repository and of what is checked out, each. */
  readonly diskBytes: number;
  readonly processes: number;
  /** Resident memory of all its processes. */
  readonly memoryBytes: number;
  readonly milliseconds: number;
}

/** Which limit a git command went over. */
export type Exceeded = keyof GitLimits;

// A clone is git, git-remote-https, index-pack and at most some helpers; a submodule is as much once more, one after the other.
export const defaultLimits: GitLimits = {
  diskBytes: 5 * 1024 ** 3,
  processes: 48,
  memoryBytes: 4 * 1024 ** 3,
  milliseconds: 3 * 3_600_000,
};

const lookEveryMilliseconds = 250;
const pageBytes = 4096;

export interface Watched {
  /** The first process of a session of its own: all that it starts is in that session. */
  readonly session: number;
  /** What git writes to; null: nothing that grows. */
  readonly folder: string | null;
  readonly limits: GitLimits;
  readonly onExceeded: (what: Exceeded) => void;
}

/**
 * Looks four times a second at what a git command takes. Not by a control group, as an ordinary user has none to write to, nor by
 * `RLIMIT_NPROC`, which does not hold root and counts all processes of a user: what is started between two looks is not held.
 * Without /proc (macOS) only disk and time are held. Returns what ends the watch.
 */
export function watch({ session, folder, limits, onExceeded }: Watched): () => void {
  let isMeasuring = false;
  const measure = async (path: string): Promise<void> => {
    if (isMeasuring) return;
    isMeasuring = true;
    try {
      if ((await diskBytes(path)) > limits.diskBytes) onExceeded('diskBytes');
    } finally {
      isMeasuring = false;
    }
  };
  let looks = 0;
  const timer = setInterval(() => {
    looks += 1;
    const { processes, memoryBytes } = usageOf(session);
    if (processes > limits.processes) onExceeded('processes');
    else if (memoryBytes > limits.memoryBytes) onExceeded('memoryBytes');
    // Walking a large folder takes its time.
    if (folder !== null && looks % 2 === 0) void measure(folder);
  }, lookEveryMilliseconds);
  const end = setTimeout(() => onExceeded('milliseconds'), limits.milliseconds);
  return () => {
    clearInterval(timer);
    clearTimeout(end);
  };
}

/** Processes of a session, and the memory of all of them. */
export function usageOf(session: number): { readonly processes: number; readonly memoryBytes: number } {
  let processes = 0;
  let memoryBytes = 0;
  for (const fields of statusesOf(session)) {
    processes += 1;
    memoryBytes += Number(fields[residentField]) * pageBytes;
  }
  return { processes, memoryBytes };
}

/** Ids of the processes of a session. */
export function processesOf(session: number): number[] {
  return statusesOf(session).map(([id]) => Number(id));
}

// Fields of /proc/<id>/stat behind the name, which is in parentheses and may hold anything; the id is put before them.
const sessionField = 4;
const residentField = 22;

function statusesOf(session: number): string[][] {
  return numbersIn('/proc').flatMap((id) => {
    try {
      const status = readFileSync(`/proc/${id}/stat`, 'utf8');
      const fields = [id, ...status.slice(status.lastIndexOf(')') + 2).split(' ')];
      return fields[sessionField] === String(session) ? [fields] : [];
    } catch {
      return []; // It has ended meanwhile.
    }
  });
}

function numbersIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return []; // This machine has no /proc.
  }
}
