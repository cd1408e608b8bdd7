import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

// Where a control group of that name is: alone (version 2), beside version 1, or in version 1, where any controller has it.
const places = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified', '/sys/fs/cgroup/pids', '/sys/fs/cgroup/memory'];

/** Kills every process in the control groups of that name, and below. Says how many there were. */
export async function killControlGroup(name: string): Promise<number> {
  const found = await Promise.all(places.map((place) => processesIn(join(place, name))));
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

async function processesIn(folder: string): Promise<number[]> {
  try {
    const own = (await readFile(join(folder, 'cgroup.procs'), 'utf8'))
      .split('\n')
      .map(Number)
      .filter((id) => id > 1);
    const entries = await readdir(folder, { withFileTypes: true });
    const below = await Promise.all(
      entries.filter((entry) => entry.isDirectory()).map((entry) => processesIn(join(folder, entry.name))),
    );
    return [...own, ...below.flat()];
  } catch (error) {
    if (isCode(error, ['ENOENT', 'ENODEV', 'EACCES'])) return [];
    throw error;
  }
}

function isCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}
