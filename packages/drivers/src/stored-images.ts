import type { CallContext } from './driver.ts';

/** An image that an engine keeps, whoever brought it there. */
export interface StoredImage {
  /** `sha256:…` */
  readonly id: string;
  /** As the engine writes them: `redis:7`, `redis@sha256:…`. Empty: nobody can ask for it but by its id. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  /** ISO 8601; of what was built elsewhere the time of that. */
  readonly createdAt: string;
  /** The service for which this installation of Davit built it; null: it did not. */
  readonly service: string | null;
}

export interface DiskSpace {
  /** Where the engine keeps images and volumes. */
  readonly folder: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export type Release = 'GONE' | 'IN_USE' | 'NAMED';

/** What an engine keeps on its disk. */
export interface ImageStore {
  /** All images of the engine. Fails with ENGINE_UNREACHABLE. */
  list(signal: AbortSignal): Promise<readonly StoredImage[]>;

  /** The disk that they are on; null: it is not one of this machine. Fails with ENGINE_UNREACHABLE. */
  space(signal: AbortSignal): Promise<DiskSpace | null>;

  /**
   * Takes these names away from an image and removes it. Never by force. GONE: it is not there (any more); IN_USE: a container has
   * it; NAMED: others gave it names too, which keep it. Fails with ENGINE_UNREACHABLE.
   */
  release(image: { readonly id: string; readonly names: readonly string[] }, context: CallContext): Promise<Release>;
}
