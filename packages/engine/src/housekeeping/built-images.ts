import type { CallContext } from '@davit/drivers';
import type { EngineParts } from '../shared/parts.ts';
import * as store from '../store/images.ts';

/** What of the engine's parts looks after images. */
export type ImageParts = Pick<EngineParts, 'database' | 'drivers' | 'settings' | 'log'>;

/**
 * Removes images of releases of these services that are too old to be kept. At the end of a deployment of them, while no other one
 * can be under way, and by the housekeeper. What does not work now does at the next time: it never fails, unless the call is
 * aborted. `kept`: of how many releases the images stay.
 */
export async function collectImages(
  parts: ImageParts,
  driver: string,
  { services, kept = parts.settings.keptReleases }: { readonly services: readonly string[]; readonly kept?: number },
  call: CallContext,
): Promise<void> {
  const { database, log } = parts;
  const builder = parts.drivers[driver]?.builder;
  if (builder === undefined || builder === null) return;
  for (const service of services) {
    try {
      await database.run(store.giveUpImages, [service, kept]);
      const ids = (await database.many(store.collectedImages, [service])).map(({ image }) => image);
      if (ids.length === 0) continue;
      await builder.removeImages(ids, call);
      await database.run(store.forgetImages, [service, ids]);
    } catch (error) {
      if (call.signal.aborted) throw error;
      log.warn({ err: error, service }, 'old images could not be removed; the next deployment tries again');
    }
  }
}
