import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EngineParts } from '../shared/parts.ts';
import { workLeft } from '../store/work-folder.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Removes the files that deployments left on the disk of this machine because their process was killed and another
 * machine finished them: sources and, for charts, values and credentials of a cluster. The files of deployments that
 * are running anywhere are kept, because machines may share the folder.
 */
export async function sweepWorkFolder({ database, settings }: Pick<EngineParts, 'database' | 'settings'>): Promise<void> {
  const { workFolder } = settings;
  // First the folders are read, then the running deployments: a deployment that begins in between is not among the
  // folders.
  const found = (await readdir(workFolder).catch(() => [])).filter((name) => uuid.test(name));
  if (found.length === 0) return;
  const known = new Map((await database.many(workLeft, [found])).map(({ id, ended }) => [id, ended]));
  for (const name of found) {
    const folder = join(workFolder, name);
    // If the deployment was deleted with its organization or environment, nothing needs its files.
    const ended = known.get(name) ?? (await readdir(folder).catch(() => []));
    for (const service of ended) await rm(join(folder, service), { recursive: true, force: true });
    // A folder that is not empty stays.
    await rmdir(folder).catch(() => undefined);
  }
}
