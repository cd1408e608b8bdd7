import { readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DiskPressure, InstancePressure } from '../driver.ts';
import { labelsOf, type Inspection } from './instances.ts';
import { label } from './labels.ts';

/*
 * Measures resource pressure on instances from the control groups and file systems of this machine, without calling the
 * engine. This reads a few short files for each instance, which is cheap enough for every other second.
 */

const groups = '/sys/fs/cgroup';
const maxProcessesRead = 500;
const maxPrograms = 5;

/** See `ClusterMetrics.pressure`. Covers the running instances of these inspections. */
export async function pressureOf(inspections: readonly Inspection[]): Promise<InstancePressure[]> {
  const found = await Promise.all(inspections.map(pressureOfOne));
  return found.filter((one) => one !== null);
}

async function pressureOfOne(inspection: Inspection): Promise<InstancePressure | null> {
  const { Pid: pid, StartedAt: startedAt } = inspection.State;
  const text = pid > 0 ? readOrNull(`/proc/${pid}/cgroup`) : null;
  if (text === null) return null;
  const labels = labelsOf(inspection);
  return {
    id: inspection.Id,
    service: labels[label.service] ?? '',
    rollout: labels[label.rollout] ?? '',
    index: Number(labels[label.index] ?? 0),
    startedAt,
    processes: processesOf(text),
    memoryKills: memoryKillsOf(text),
    disks: await disksOf(inspection),
  };
}

/**
 * Returns the folder of a controller's control group, from the text of `/proc/<pid>/cgroup`. Prefers cgroups version 1
 * if the controller is mounted there, otherwise uses version 2. Pure.
 */
export function groupOf(text: string, controller: string, root = groups): string | null {
  const lines = text.split('\n').map((line) => line.split(':'));
  const own = lines.find(([, names]) => names?.split(',').includes(controller) === true);
  if (own !== undefined) return join(root, controller, own.slice(2).join(':'));
  const unified = lines.find(([number, names]) => number === '0' && names === '');
  return unified === undefined ? null : join(root, unified.slice(2).join(':'));
}

function processesOf(text: string): InstancePressure['processes'] {
  // The limit may be set on a parent of the process's group: Podman puts `container` below its scope.
  for (let folder = groupOf(text, 'pids'); folder !== null && folder.length > groups.length; folder = dirname(folder)) {
    const limit = Number(readOrNull(join(folder, 'pids.max')) ?? Number.NaN);
    if (Number.isNaN(limit)) continue;
    const current = Number(readOrNull(join(folder, 'pids.current')));
    const refused = countIn(readOrNull(join(folder, 'pids.events')), 'max') ?? 0;
    return { current, limit, refused, programs: current < limit / 2 ? [] : programsOf(text) };
  }
  return null;
}

function programsOf(text: string): string[] {
  const folder = groupOf(text, 'pids');
  const list = folder === null ? null : readOrNull(join(folder, 'cgroup.procs'));
  const ids = list?.split('\n') ?? [];
  // A full table has thousands of processes, and each is a file to read. Some of them show what there is.
  const step = Math.ceil(ids.length / maxProcessesRead);
  const stats = ids.filter((_, index) => index % step === 0).flatMap((id) => readOrNull(`/proc/${id}/stat`) ?? []);
  return mostPrograms(stats, step);
}

/**
 * Returns the programs with the most processes and threads. `stats`: `/proc/<pid>/stat` of every `step`-th process.
 * Pure.
 */
export function mostPrograms(stats: readonly string[], step: number): string[] {
  const counts = new Map<string, number>();
  for (const stat of stats) {
    // The name is in parentheses and may contain any byte, parentheses too. The 18th field after it counts threads.
    const end = stat.lastIndexOf(')');
    const name = stat.slice(stat.indexOf('(') + 1, end).replaceAll(/\p{Cc}/gu, '?');
    const threads = Number(stat.slice(end + 2).split(' ')[17] ?? 1);
    counts.set(name, (counts.get(name) ?? 0) + threads * step);
  }
  const most = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, maxPrograms);
  return most.map(([name, count]) => `${step > 1 ? 'about ' : ''}${count} × ${name}`);
}

function memoryKillsOf(text: string): number | null {
  const folder = groupOf(text, 'memory');
  if (folder === null) return null;
  const counts = readOrNull(join(folder, 'memory.events')) ?? readOrNull(join(folder, 'memory.oom_control'));
  return countIn(counts, 'oom_kill');
}

/** Returns the number that follows a name, in lines of the form `name number`. Pure. */
export function countIn(text: string | null, name: string): number | null {
  const line = text?.split('\n').find((one) => one.startsWith(`${name} `));
  return line === undefined ? null : Number(line.slice(name.length + 1));
}

async function disksOf({ State, Mounts }: Inspection): Promise<DiskPressure[]> {
  const volumes = Mounts.filter(({ Type }) => Type === 'volume');
  const locations = [
    { path: '/', folder: `/proc/${State.Pid}/root` },
    ...volumes.map(({ Destination, Source }) => ({ path: Destination, folder: Source })),
  ];
  const disks = await Promise.all(locations.map(({ path, folder }) => diskOf(path, folder)));
  return disks.filter((disk) => disk !== null);
}

async function diskOf(path: string, folder: string): Promise<DiskPressure | null> {
  try {
    const { bsize, blocks, bavail, files, ffree } = await statfs(folder);
    return { path, bytes: blocks * bsize, freeBytes: bavail * bsize, files, freeFiles: ffree };
  } catch {
    // The instance has exited meanwhile, or this process may not read its file system.
    return null;
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
