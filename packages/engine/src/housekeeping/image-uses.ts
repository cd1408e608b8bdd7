import type { StoredImage } from '@davit/drivers';
import type { ImageUseRow } from '../store/images.ts';

/**
 * Why an image is there. RUNS: what runs, or a deployment under way, needs it. ROLLBACK: a kept release needs it. CACHE: it was built
 * for the newest release of a service that has it from a registry; the next build begins with what it is made of. UNUSED: Davit brought
 * or built it and nothing needs it. FOREIGN: Davit did neither, so that it never goes.
 */
export type ImageUse = 'RUNS' | 'ROLLBACK' | 'CACHE' | 'UNUSED' | 'FOREIGN';

export interface UsedImage {
  readonly image: StoredImage;
  readonly use: ImageUse;
  /** Whether Davit pulled it, so that it can be had again under its digest. */
  readonly isPulled: boolean;
  /** Names of it that Davit made. */
  readonly names: readonly string[];
}

export interface Ownership {
  /** Names by which Davit pulled it, by image. */
  readonly pulled: ReadonlyMap<string, readonly string[]>;
  readonly uses: readonly ImageUseRow[];
  /** Services with a deployment that has not ended: what it builds is in no release yet. */
  readonly busy: ReadonlySet<string>;
  /** Of a service: how many of its newest releases are kept. */
  readonly keptReleases: number;
}

/** What each image of an engine is there for. Pure. */
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
  /** Names. */
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
