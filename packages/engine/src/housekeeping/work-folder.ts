import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EngineParts } from '../shared/parts.ts';
import { workLeft } from '../store/work-folder.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Removes what deployments left on the disk of this machine when their process was killed and another machine brought them to their end: sources
 * and, of charts, values and access to a cluster. Those under way anywhere keep theirs, as machines may share the folder.
 */
export async function sweepWorkFolder({ database, settings }: Pick<EngineParts, 'database' | 'settings'>): Promise<void> {
  const { workFolder } = settings;
  // First what is there, then what is under way: a deployment that begins in between has nothing among it.
  const found = (await readdir(workFolder).catch(() => [])).filter((name) => uuid.test(name));
  if (found.length === 0) return;
  const known = new Map((await database.many(workLeft, [found])).map(({ id, ended }) => [id, ended]));
  for (const name of found) {
    const folder = join(workFolder, name);
    // Of a deployment that went with its organization or environment there is nothing that it could be for.
    const ended = known.get(name) ?? (await readdir(folder).catch(() => []));
    for (const service of ended) await rm(join(folder, service), { recursive: true, force: true });
    // One with something in it stays.
    await rmdir(folder).catch(() => undefined);
  }
}
