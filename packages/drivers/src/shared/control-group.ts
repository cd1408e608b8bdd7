import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startOf } from './processes.ts';

/**
 * Control groups of builds on Podman, and of programs that Davit runs. A build's commands run in `<group>/run`, which is removed with each
 * command; `<group>` stays until the build is over and has kept the account of all of them. Only groups named by `newGroupName` are touched.
 */

const root = '/sys/fs/cgroup';

/** A name for the control group of one build or of one run of a program, that says which process made it. */
export function newGroupName(kind: 'build' | 'run'): string {
  return `davit-${kind}-${process.pid}-${startOf('self')}-${randomBytes(8).toString('hex')}`;
}

export interface GroupLimits {
  /** Processes and threads. */
  readonly processes: number;
  /** Memory of all of it together; left out: no limit. */
  readonly memoryBytes?: number;
}

/**
 * Makes the group with limits on all that runs in it. Returns the folders whose `cgroup.procs` takes a process in; null: this process may
 * not, or the machine has no controllers for it. A limit of users (RLIMIT_NPROC) would hold nothing, as the kernel exempts root.
 */
export async function makeControlGroup(name: string, { processes, memoryBytes }: GroupLimits): Promise<readonly string[] | null> {
  // Version 2 hands controllers down only where the group above says so, as systemd has it from the start.
  await writeFile(join(root, 'cgroup.subtree_control'), '+pids +memory').catch(() => undefined);
  const isVersion1 = (await readOrNull(join(root, 'pids', 'cgroup.procs'))) !== null;
  const folderOf = (controller: string): string => join(root, ...(isVersion1 ? [controller] : []), name);
  try {
    await mkdir(folderOf('pids'), { recursive: true });
    await writeFile(join(folderOf('pids'), 'pids.max'), String(processes));
    if (memoryBytes === undefined) return [folderOf('pids')];
    await mkdir(folderOf('memory'), { recursive: true });
    await writeFile(join(folderOf('memory'), isVersion1 ? 'memory.limit_in_bytes' : 'memory.max'), String(memoryBytes));
    return [...new Set([folderOf('pids'), folderOf('memory')])];
  } catch {
    await removeControlGroup(name);
    return null;
  }
}

/** Ends what builds left running whose Davit process is gone from this machine. Programs are left to end in order. */
export async function endOrphanGroups(): Promise<void> {
  const names = (await Promise.all((await hierarchies()).map(foldersIn))).flat();
  for (const name of new Set(names)) {
    const [, kind, id, start] = /^davit-(build|run)-(\d+)-(\d+)-[0-9a-f]{16}$/.exec(name) ?? [];
    if (kind === undefined || startOf(Number(id)) === start) continue;
    if (kind === 'build') await killControlGroup(name);
    await removeControlGroup(name);
  }
}

/** Kills every process in the group and below. Says how many there were. */
export async function killControlGroup(name: string): Promise<number> {
  const found = await Promise.all((await hierarchies()).map((place) => processesIn(join(place, name))));
  const processes = new Set(found.flat());
  for (const id of processes) {
    try {
      process.kill(id, 'SIGKILL');
    } catch (error) {
      // ESRCH: it has ended meanwhile. EPERM: an engine of another user; there is nothing we may do.
      if (!isCode(error, ['ESRCH', 'EPERM'])) throw error;
    }
  }
  return processes.size;
}

/**
 * Whether the kernel killed in this group for want of memory. Version 2 counts that. Version 1 counts it only in `run`, which is
 * gone; but what never came near the limit was not killed for it. Null: it may have been.
 */
export async function wasKilledForMemory(name: string, limitBytes: number): Promise<boolean | null> {
  const events = await readOrNull(join(root, name, 'memory.events'));
  if (events !== null) return /^oom_kill [1-9]/m.test(events);
  const peak = await readOrNull(join(root, 'memory', name, 'memory.max_usage_in_bytes'));
  return peak === null || Number(peak) > limitBytes * 0.95 ? null : false;
}

/** Removes the group, which must be empty of processes; one that is not stays for `endOrphanGroups`. */
export async function removeControlGroup(name: string): Promise<void> {
  for (const place of await hierarchies()) {
    for (const folder of [join(place, name, 'run'), join(place, name)]) {
      await rmdir(folder).catch((error: unknown) => {
        if (!isCode(error, ['ENOENT', 'ENOTDIR', 'EBUSY', 'ENOTEMPTY', 'EACCES', 'EPERM', 'EROFS'])) throw error;
      });
    }
  }
}

/** Version 2 is the root itself; version 1 has a hierarchy for each controller. */
async function hierarchies(): Promise<string[]> {
  const controllers = (await foldersIn(root)).filter((name) => /^[a-z_,]+$/.test(name));
  return [root, ...controllers.map((name) => join(root, name))];
}

async function processesIn(folder: string): Promise<number[]> {
  const listed = (await readOrNull(join(folder, 'cgroup.procs'))) ?? '';
  const own = listed
    .split('\n')
    .map(Number)
    .filter((id) => id > 1);
  if (listed === '' && (await foldersIn(folder)).length === 0) return [];
  const below = await Promise.all((await foldersIn(folder)).map((name) => processesIn(join(folder, name))));
  return [...own, ...below.flat()];
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(ifUnreadable([]));
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

function readOrNull(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(ifUnreadable(null));
}

/** Gone meanwhile, or of another user: then it is none of ours. */
function ifUnreadable<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isCode(error, ['ENOENT', 'ENODEV', 'EACCES', 'ESRCH', 'ENOTDIR', 'EOPNOTSUPP'])) return value;
    throw error;
  };
}

function isCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}
