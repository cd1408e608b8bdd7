import type { CallContext } from './driver.ts';

/** An image that an engine stores, regardless of who built or pulled it. */
export interface StoredImage {
  /** `sha256:…` */
  readonly id: string;
  /**
   * Names in the engine's notation: `redis:7`, `redis@sha256:…`. Empty if the image can only be referred to by its id.
   */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  /** ISO 8601; for an image built elsewhere, the time of that build. */
  readonly createdAt: string;
  /** The service for which this installation of Davit built the image; null if this installation did not build it. */
  readonly service: string | null;
}

export interface DiskSpace {
  /** Folder in which the engine stores images and volumes. */
  readonly folder: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export type Release = 'GONE' | 'IN_USE' | 'NAMED';

/** The images that an engine stores on its disk. */
export interface ImageStore {
  /** Returns all images of the engine. Fails with ENGINE_UNREACHABLE. */
  list(signal: AbortSignal): Promise<readonly StoredImage[]>;

  /**
   * Returns the space of the disk that holds the images; null if the disk is not on this machine. Fails with
   * ENGINE_UNREACHABLE.
   */
  space(signal: AbortSignal): Promise<DiskSpace | null>;

  /**
   * Removes entries of BuildKit's cache until the cache uses at most this much: first those that were used least and
   * longest ago. Layers that images use cost nothing and stay. Returns the number of bytes freed; 0 for an engine
   * without BuildKit. Fails with ENGINE_UNREACHABLE.
   */
  pruneCache(keepBytes: number, signal: AbortSignal): Promise<number>;

  /** Returns the bytes of the build cache that no image has; null where the cache consists of images. */
  cacheBytes(signal: AbortSignal): Promise<number | null>;

  /**
   * Removes these names from an image, and then the image, never by force. Fails with ENGINE_UNREACHABLE. Returns:
   * - GONE: the image does not exist (any more).
   * - IN_USE: a container uses the image.
   * - NAMED: the image has other names too, and is kept.
   */
  release(image: { readonly id: string; readonly names: readonly string[] }, context: CallContext): Promise<Release>;
}
