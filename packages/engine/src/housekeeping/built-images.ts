import type { CallContext } from '@davit/drivers';
import type { EngineParts } from '../shared/parts.ts';
import * as store from '../store/images.ts';

/** The parts of the engine that handling images needs. */
export type ImageParts = Pick<EngineParts, 'database' | 'drivers' | 'settings' | 'log'>;

/**
 * Removes the images of old releases of these services. Called at the end of a deployment of the services, when no
 * other deployment of them can be running, and by the housekeeper. An image that cannot be removed is removed at the
 * next call. Fails only if the call is aborted.
 *
 * `kept`: number of releases whose images are kept.
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
