import type { EngineParts } from '../shared/parts.ts';
import { organizationsWithServices } from '../store/work-folder.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Removes kept objects of git repositories from the disk of this machine: those of organizations without services,
 * and what the driver of sources no longer needs. A first deployment whose objects are removed meanwhile is not harmed:
 * its checkout has links to them.
 */
export async function tidySources(
  { database, drivers }: Pick<EngineParts, 'database' | 'drivers'>,
  signal: AbortSignal,
): Promise<void> {
  const sources = new Set(Object.values(drivers).map(({ source }) => source.kept));
  for (const kept of sources) {
    if (kept === undefined) continue;
    const found = (await kept.organizations()).filter((id) => uuid.test(id));
    if (found.length === 0) continue;
    const known = new Set((await database.many(organizationsWithServices, [found])).map(({ id }) => id));
    for (const organization of found) if (!known.has(organization)) await kept.forget(organization);
    await kept.tidy(signal);
  }
}
