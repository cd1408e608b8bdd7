import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startOf } from './processes.ts';

/**
 * Control groups of builds on Podman, and of programs that Davit runs. The commands of a build run in `<group>/run`,
 * which is removed with each command. `<group>` exists until the build is over and accumulates the counters of all
 * commands. Only groups named by `newGroupName` are created and removed. On Docker, limits are written into the groups
 * that BuildKit creates for the commands of a build (see `docker/build/command-limits.ts`).
 */

const root = '/sys/fs/cgroup';

/**
 * Returns a name for the control group of one build or of one run of a program. The name contains the process that
 * created it.
 */
export function newGroupName(kind: 'build' | 'run'): string {
  return `davit-${kind}-${process.pid}-${startOf('self')}-${randomBytes(8).toString('hex')}`;
}

export interface GroupLimits {
  /** Most processes and threads. */
  readonly processes: number;
  /** Memory limit of the whole group, in bytes; absent: no limit. */
  readonly memoryBytes?: number;
}

/**
 * Creates the group with limits for everything in it. Returns the folders whose `cgroup.procs` adds a process to the
 * group; null if this process lacks the permission, or the machine lacks the controllers. A limit per user
 * (RLIMIT_NPROC) would have no effect, as the kernel exempts root.
 */
export async function makeControlGroup(name: string, { processes, memoryBytes }: GroupLimits): Promise<readonly string[] | null> {
  // Version 2 passes controllers down only if the parent group enables them, as systemd does from the start.
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

/** Limits of one command of a build. */
export interface CommandLimits {
  readonly memoryBytes: number;
  readonly cpuMillicores: number;
  /** Most processes and threads. */
  readonly processes: number;
}

/** Period of CPU limits in microseconds. */
export const cpuPeriodMicroseconds = 100_000;

/** Returns the CPU time in microseconds that a limit allows in each period. */
export function cpuQuotaMicroseconds(cpuMillicores: number): number {
  return Math.max(1000, Math.round((cpuMillicores / 1000) * cpuPeriodMicroseconds));
}

/** Returns whether this process may set limits of groups that other programs created. */
export function canLimitGroups(): boolean {
  try {
    for (const folder of isUnified() ? [root] : ['memory', 'pids', 'cpu'].map((name) => join(root, name)))
      accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function isUnified(): boolean {
  return existsSync(join(root, 'cgroup.controllers'));
}

/**
 * Sets the limits of a group that another program created at one of these paths. No swap is allowed in addition to the
 * memory. Returns the path of the group; null if none of the paths exists (yet).
 */
export async function limitGroup(paths: readonly string[], limits: CommandLimits): Promise<string | null> {
  const quota = cpuQuotaMicroseconds(limits.cpuMillicores);
  const memory = String(limits.memoryBytes);
  // In this order: version 1 accepts a limit of memory and swap only above that of memory.
  const files = isUnified()
    ? [
        ['', 'pids.max', String(limits.processes)],
        ['', 'memory.max', memory],
        ['', 'memory.swap.max', '0'],
        ['', 'cpu.max', `${quota} ${cpuPeriodMicroseconds}`],
      ]
    : [
        ['pids', 'pids.max', String(limits.processes)],
        ['memory', 'memory.limit_in_bytes', memory],
        ['memory', 'memory.memsw.limit_in_bytes', memory],
        ['cpu', 'cpu.cfs_quota_us', String(quota)],
      ];
  for (const path of paths) {
    let written = 0;
    for (const [controller = '', file = '', value = ''] of files) {
      const isSet = await writeFile(join(root, controller, path, file), value, { flag: 'r+' }).then(
        () => true,
        // A kernel without accounting of swap has no file for it.
        () => false,
      );
      if (isSet || /swap|memsw/.test(file)) written += 1;
    }
    if (written === files.length) return path;
  }
  return null;
}

/**
 * Ends the leftover processes of builds whose Davit process no longer exists on this machine. Leftover programs are
 * left to stop gracefully.
 */
export async function endOrphanGroups(): Promise<void> {
  const names = (await Promise.all((await hierarchies()).map(foldersIn))).flat();
  for (const name of new Set(names)) {
    const [, kind, id, start] = /^davit-(build|run)-(\d+)-(\d+)-[0-9a-f]{16}$/.exec(name) ?? [];
    if (kind === undefined || startOf(Number(id)) === start) continue;
    if (kind === 'build') await killControlGroup(name);
    await removeControlGroup(name);
  }
}

/** Kills every process in the group and below. Returns how many there were. */
export async function killControlGroup(name: string): Promise<number> {
  const found = await Promise.all((await hierarchies()).map((location) => processesIn(join(location, name))));
  const processes = new Set(found.flat());
  for (const id of processes) {
    try {
      process.kill(id, 'SIGKILL');
    } catch (error) {
      // ESRCH: the process has exited meanwhile. EPERM: the engine belongs to another user, so Davit may not kill it.
      if (!isCode(error, ['ESRCH', 'EPERM'])) throw error;
    }
  }
  return processes.size;
}

/**
 * Returns whether the kernel killed a process in this group for lack of memory. Version 2 counts such kills. Version 1
 * counts them only in `run`, which is gone; but a group that never came near the limit had no such kill. Null: unknown.
 */
export async function wasKilledForMemory(name: string, limitBytes: number): Promise<boolean | null> {
  const events = await readOrNull(join(root, name, 'memory.events'));
  if (events !== null) return /^oom_kill [1-9]/m.test(events);
  const peak = await readOrNull(join(root, 'memory', name, 'memory.max_usage_in_bytes'));
  return peak === null || Number(peak) > limitBytes * 0.95 ? null : false;
}

/** Removes the group, which must not contain processes. If it does, it stays for `endOrphanGroups`. */
export async function removeControlGroup(name: string): Promise<void> {
  for (const location of await hierarchies()) {
    for (const folder of [join(location, name, 'run'), join(location, name)]) {
      await rmdir(folder).catch((error: unknown) => {
        if (!isCode(error, ['ENOENT', 'ENOTDIR', 'EBUSY', 'ENOTEMPTY', 'EACCES', 'EPERM', 'EROFS'])) throw error;
      });
    }
  }
}

/** Returns the roots of the hierarchies. Version 2 has one, the root itself; version 1 has one for each controller. */
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

/** Handles a group that is gone or belongs to another user; Davit then ignores the group. */
function ifUnreadable<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isCode(error, ['ENOENT', 'ENODEV', 'EACCES', 'ESRCH', 'ENOTDIR', 'EOPNOTSUPP'])) return value;
    throw error;
  };
}

function isCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}
