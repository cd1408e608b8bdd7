import type { StoredImage } from '@davit/drivers';
import type { ImageUseRow } from '../store/images.ts';

/**
 * Why an image exists.
 *
 * - RUNS: something that runs, or a deployment under way, needs the image.
 * - ROLLBACK: a kept release needs the image.
 * - CACHE: the image was built for the newest release of a service, which has it from a registry; the next build reuses
 *   its layers.
 * - UNUSED: Davit pulled or built the image, and nothing needs it.
 * - FOREIGN: Davit neither pulled nor built the image, and never removes it.
 */
export type ImageUse = 'RUNS' | 'ROLLBACK' | 'CACHE' | 'UNUSED' | 'FOREIGN';

export interface UsedImage {
  readonly image: StoredImage;
  readonly use: ImageUse;
  /** Whether Davit pulled the image, so that it can be pulled again by its digest. */
  readonly isPulled: boolean;
  /** Names of the image that Davit created. */
  readonly names: readonly string[];
}

export interface Ownership {
  /** Names under which Davit pulled an image, by image id. */
  readonly pulled: ReadonlyMap<string, readonly string[]>;
  readonly uses: readonly ImageUseRow[];
  /** Services with a deployment that has not ended. The images that it builds belong to no release yet. */
  readonly busy: ReadonlySet<string>;
  /** Number of newest releases of a service that are kept. */
  readonly keptReleases: number;
}

/** Returns why each image of an engine exists. Pure. */
export function usesOf(images: readonly StoredImage[], ownership: Ownership): UsedImage[] {
  const uses = Map.groupBy(ownership.uses, ({ image_id }) => image_id);
  const cached = new Set(ownership.uses.map(({ image_name }) => image_name));
  return images.map((image) => {
    const names = ownership.pulled.get(image.id);
    const isPulled = names !== undefined;
    const owned = names ?? (image.service === null ? [] : image.names);
    return { image, use: useOf(image, { uses: uses.get(image.id) ?? [], cached, ownership }), isPulled, names: owned };
  });
}

interface Uses {
  readonly uses: readonly ImageUseRow[];
  /** Names of images that serve as a build cache. */
  readonly cached: ReadonlySet<string | null>;
  readonly ownership: Ownership;
}

function useOf(image: StoredImage, { uses, cached, ownership }: Uses): ImageUse {
  const { pulled, busy, keptReleases } = ownership;
  if (!pulled.has(image.id) && image.service === null) return 'FOREIGN';
  if (uses.some(({ runs }) => runs)) return 'RUNS';
  if (image.service !== null && busy.has(image.service)) return 'RUNS';
  if (uses.some(({ age }) => age <= keptReleases)) return 'ROLLBACK';
  return uses.length === 0 && image.names.some((name) => cached.has(name)) ? 'CACHE' : 'UNUSED';
}
