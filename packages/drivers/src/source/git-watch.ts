import { readdirSync, readFileSync } from 'node:fs';
import { diskBytes } from './disk-size.ts';

/** Limits of a git command; a command that exceeds one is killed. */
export interface GitLimits {
  /** Disk space of the repository and of the checked-out files, each. */
  readonly diskBytes: number;
  readonly processes: number;
  /** Resident memory of all its processes. */
  readonly memoryBytes: number;
  readonly milliseconds: number;
}

/** The limit that a git command exceeded. */
export type Exceeded = keyof GitLimits;

// A clone runs git, git-remote-https, index-pack and at most some helpers. A submodule needs as many again; submodules
// are fetched one after the other.
export const defaultLimits: GitLimits = {
  diskBytes: 5 * 1024 ** 3,
  processes: 48,
  memoryBytes: 4 * 1024 ** 3,
  milliseconds: 3 * 3_600_000,
};

const lookEveryMilliseconds = 250;
const pageBytes = 4096;

export interface Watched {
  /** Process id of the first process of its own session: all its descendants are in that session. */
  readonly session: number;
  /** Folder that git writes to; null if nothing grows. */
  readonly folder: string | null;
  readonly limits: GitLimits;
  readonly onExceeded: (what: Exceeded) => void;
}

/**
 * Checks four times a second which resources a git command uses, and returns a function that ends these checks.
 * Processes that start between two checks are not limited until the next check. Alternatives do not work: an ordinary
 * user cannot write to a control group, and `RLIMIT_NPROC` does not apply to root and counts all processes of a user.
 * Without /proc (macOS) only disk and time are limited.
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
    // Walking a large folder takes time.
    if (folder !== null && looks % 2 === 0) void measure(folder);
  }, lookEveryMilliseconds);
  const end = setTimeout(() => onExceeded('milliseconds'), limits.milliseconds);
  return () => {
    clearInterval(timer);
    clearTimeout(end);
  };
}

/** Returns the number of processes in a session, and their total memory. */
export function usageOf(session: number): { readonly processes: number; readonly memoryBytes: number } {
  let processes = 0;
  let memoryBytes = 0;
  for (const fields of statusesOf(session)) {
    processes += 1;
    memoryBytes += Number(fields[residentField]) * pageBytes;
  }
  return { processes, memoryBytes };
}

/** Returns the ids of the processes in a session. */
export function processesOf(session: number): number[] {
  return statusesOf(session).map(([id]) => Number(id));
}

// Indexes of fields of /proc/<id>/stat after the name, which is in parentheses and may contain anything. The id is put
// before these fields.
const sessionField = 4;
const residentField = 22;

function statusesOf(session: number): string[][] {
  return numbersIn('/proc').flatMap((id) => {
    try {
      const status = readFileSync(`/proc/${id}/stat`, 'utf8');
      const fields = [id, ...status.slice(status.lastIndexOf(')') + 2).split(' ')];
      return fields[sessionField] === String(session) ? [fields] : [];
    } catch {
      return []; // The process has exited meanwhile.
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
