import type { GitReleaseSource, ImageReleaseSource, ReleaseConfig } from '../model.ts';

/** Returns the registry source of a release's image; null if the image is built, or the release has none. */
export function imageSourceOf({ source }: Pick<ReleaseConfig, 'source'>): ImageReleaseSource | null {
  return source.type === 'IMAGE' ? source : null;
}

/** Returns the git source of a release's image; null if the image is pulled, or the release has none. */
export function gitSourceOf({ source }: Pick<ReleaseConfig, 'source'>): GitReleaseSource | null {
  return source.type === 'GIT' ? source : null;
}
