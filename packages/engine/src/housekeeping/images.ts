import { DriverError, type CallContext, type DiskSpace, type ImageStore, type StoredImage } from '@davit/drivers';
import * as store from '../store/images.ts';
import { collectImages, type ImageParts } from './built-images.ts';
import { usesOf, type UsedImage } from './image-uses.ts';

/*
 * Removes images that Davit owns and that no kept release needs. Davit owns an image if it built the image, which then
 * has its label, or pulled the image, which is then listed in a table. When the disk is nearly full, more images are
 * removed; those that are easiest to get again go first:
 *
 * 1. Images that nothing needs.
 * 2. Nine tenths of the budget of the build cache (`buildCacheMiB`). Within the budget the cache stays otherwise.
 * 3. Pulled images of releases that are only kept for rollbacks: a rollback pulls the same digest again. Also images
 *    built here for a cluster that has them from a registry; they only speed up the next build.
 * 4. Built images of all but the newest two releases of each service. A rollback to the older releases is then
 *    impossible.
 *
 * Images that run or were the last to run, volumes, and images that others brought to the engine are never removed.
 */

const keptUnderPressure = 2;
// A pull is recorded right after it. A look in between must not mistake the image for an unused one.
const graceMilliseconds = 10 * 60_000;

export interface DiskReport {
  /** null: the disk is not a disk of this machine. */
  readonly space: DiskSpace | null;
  readonly images: readonly UsedImage[];
}

/**
 * Reports the disk space and the images of an engine, without changing anything; null if the driver stores no images.
 */
export async function readDisk(parts: ImageParts, driver: string, signal: AbortSignal): Promise<DiskReport | null> {
  const images = parts.drivers[driver]?.imageStore;
  if (images === undefined) return null;
  return { space: await images.space(signal), images: await readUses(parts, driver, images, signal) };
}

async function readUses(parts: ImageParts, driver: string, images: ImageStore, signal: AbortSignal): Promise<UsedImage[]> {
  const { database, settings } = parts;
  // First the images are read, then their uses. Images that arrive in between are not considered.
  const stored = await images.list(signal);
  const pulled = await database.many(store.pulledImages, [driver]);
  const uses = await database.many(store.imageUses, [stored.map(({ id }) => id), stored.flatMap(({ names }) => names)]);
  const busy = await database.many(store.busyServices);
  return usesOf(stored, {
    pulled: new Map(pulled.map(({ image_id, names }) => [image_id, names])),
    uses,
    busy: new Set(busy.map(({ service_id }) => service_id)),
    keptReleases: settings.keptReleases,
  });
}

/** Returns FULL if less than the minimum is free, NEAR if less than twice the minimum is free. */
function pressureOf({ freeBytes }: Pick<DiskSpace, 'freeBytes'>, minFreeMiB: number): 'NONE' | 'NEAR' | 'FULL' {
  const least = minFreeMiB * 1024 * 1024;
  if (freeBytes < least) return 'FULL';
  return freeBytes < 2 * least ? 'NEAR' : 'NONE';
}

/**
 * Removes the images that may be removed now; more when the disk is nearly full. Returns the removed images. Does not
 * fail for images that are in use.
 */
export async function collectAll(parts: ImageParts, driver: string, call: CallContext): Promise<readonly StoredImage[]> {
  const images = parts.drivers[driver]?.imageStore;
  if (images === undefined) return [];
  const { database } = parts;
  const waiting = (await database.many(store.servicesToCollect, [driver])).map(({ service_id }) => service_id);
  await collectImages(parts, driver, { services: waiting }, call);
  const gone = await removeThose(parts, { driver, images, call }, ({ use }) => use === 'UNUSED');
  const { buildCacheMiB = 0 } = parts.settings;
  if (buildCacheMiB > 0) await pruneCache(parts, { driver, images, call }, buildCacheMiB);
  if (!(await isNear(parts, images, call.signal))) return gone;
  if (buildCacheMiB > 0) await pruneCache(parts, { driver, images, call }, buildCacheMiB / 10);
  if (!(await isNear(parts, images, call.signal))) return gone;
  const more = await removeThose(
    parts,
    { driver, images, call },
    ({ use, isPulled }) => use === 'CACHE' || (isPulled && use === 'ROLLBACK'),
  );
  if (!(await isNear(parts, images, call.signal))) return [...gone, ...more];
  const services = (await database.many(store.servicesWithImages, [keptUnderPressure, driver])).map(
    ({ service_id }) => service_id,
  );
  await collectImages(parts, driver, { services, kept: keptUnderPressure }, call);
  const rest = await removeThose(parts, { driver, images, call }, ({ use }) => use === 'UNUSED');
  return [...gone, ...more, ...rest];
}

async function isNear(parts: ImageParts, images: ImageStore, signal: AbortSignal): Promise<boolean> {
  const space = await images.space(signal);
  return space !== null && pressureOf(space, parts.settings.minFreeMiB ?? 0) !== 'NONE';
}

/** Reduces the build cache. A failure is logged: it must not keep images from being removed. */
async function pruneCache({ log }: ImageParts, { driver, images, call }: ImageHost, keepMiB: number): Promise<void> {
  try {
    const bytes = await images.pruneCache(Math.floor(keepMiB * 1024 * 1024), call.signal);
    if (bytes > 0) log.info({ driver, bytes }, 'reduced the build cache');
  } catch (error) {
    if (call.signal.aborted) throw error;
    log.warn({ err: error, driver }, 'the build cache could not be reduced; trying again at the next check');
  }
}

interface ImageHost {
  readonly driver: string;
  readonly images: ImageStore;
  readonly call: CallContext;
}

async function removeThose(
  parts: ImageParts,
  { driver, images, call }: ImageHost,
  isChosen: (used: UsedImage) => boolean,
): Promise<StoredImage[]> {
  const { database, log } = parts;
  const gone: StoredImage[] = [];
  const young = new Set((await database.many(store.youngPulls, [driver, graceMilliseconds])).map(({ image_id }) => image_id));
  for (const used of (await readUses(parts, driver, images, call.signal)).filter(isChosen)) {
    const { image, isPulled, names } = used;
    if (young.has(image.id)) continue;
    try {
      // First the releases lose the image, so that a rollback to one of them pulls it again.
      if (isPulled) await database.run(store.giveUpPulled, [image.id]);
      const outcome = await images.release({ id: image.id, names }, call);
      // An image that others have named meanwhile belongs to them from now on.
      if (isPulled && outcome !== 'IN_USE') await database.run(store.forgetPulled, [driver, image.id]);
      if (outcome !== 'GONE') continue;
      gone.push(image);
      log.info({ image: image.id, names, bytes: image.sizeBytes, use: used.use }, 'removed an image');
    } catch (error) {
      if (call.signal.aborted) throw error;
      log.warn({ err: error, image: image.id }, 'an image could not be removed; trying again at the next check');
    }
  }
  return gone;
}

/**
 * Frees disk space before a build or pull. Fails with DISK_FULL if there is still not enough: a completely full disk
 * stops the database and everything that runs with it.
 */
export async function assertSpace(parts: ImageParts, driver: string, call: CallContext): Promise<void> {
  const images = parts.drivers[driver]?.imageStore;
  const minFreeMiB = parts.settings.minFreeMiB ?? 0;
  if (images === undefined || minFreeMiB === 0) return;
  const before = await images.space(call.signal);
  if (before === null || pressureOf(before, minFreeMiB) !== 'FULL') return;
  call.log(`The disk of the container engine has ${mebibytes(before.freeBytes)} MiB free: removing images that are not needed.`);
  await collectAll(parts, driver, call);
  const after = (await images.space(call.signal)) ?? before;
  if (pressureOf(after, minFreeMiB) !== 'FULL') return;
  throw new DriverError({
    cause: 'DISK_FULL',
    message: `only ${mebibytes(after.freeBytes)} MiB are free at ${after.folder}, and nothing is built or pulled below ${minFreeMiB} MiB (DAVIT_LEAST_FREE_DISK_MIB)`,
    hint: 'Free space there (`./davit disk` shows what Davit keeps), then deploy again. Running services are not affected.',
  });
}

function mebibytes(bytes: number): number {
  return Math.floor(bytes / 1024 / 1024);
}

/** Returns the problem with the disk, in words; null if there is none. */
export function diskWarning(space: DiskSpace, minFreeMiB: number): string | null {
  const pressure = pressureOf(space, minFreeMiB);
  if (pressure === 'NONE') return null;
  const free = `${mebibytes(space.freeBytes)} MiB are free at ${space.folder}`;
  return pressure === 'NEAR'
    ? `${free}: near the limit of ${minFreeMiB} MiB, images for rollbacks are removed`
    : `${free}: below the limit of ${minFreeMiB} MiB, nothing is built or pulled`;
}
