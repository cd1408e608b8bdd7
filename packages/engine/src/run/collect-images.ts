import type { CallContext } from '@davit/drivers';
import type { EngineParts } from '../parts.ts';
import * as store from '../store/images.ts';

/**
 * Removes images of releases of these services that are too old to be kept. At the end of a deployment of them, while no other one
 * can be under way. What does not work now does at the next deployment: it never fails, unless the call is aborted.
 */
export async function collectImages(
  parts: EngineParts,
  driver: string,
  services: readonly string[],
  call: CallContext,
): Promise<void> {
  const { database, settings, log } = parts;
  const builder = parts.drivers[driver]?.builder;
  if (builder === undefined) return;
  for (const service of services) {
    try {
      await database.run(store.giveUpImages, [service, settings.keptReleases]);
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
