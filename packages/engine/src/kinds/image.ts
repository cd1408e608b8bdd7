import type { GitReleaseSource, ImageReleaseSource, ReleaseConfig } from '../model.ts';
import type { Credentials, Steps } from './kind.ts';

/** Returns the registry source of a release's image; null if the image is built, or the release has none. */
export function imageSourceOf({ source }: Pick<ReleaseConfig, 'source'>): ImageReleaseSource | null {
  return source.type === 'IMAGE' ? source : null;
}

/** Returns the git source of a release's image; null if the image is pulled, or the release has none. */
export function gitSourceOf({ source }: Pick<ReleaseConfig, 'source'>): GitReleaseSource | null {
  return source.type === 'GIT' ? source : null;
}

/**
 * Returns the steps that provide the image. An image that is not built has no building phase: its pull is part of the
 * deployment.
 */
export function imageSteps(config: ReleaseConfig | null): Steps {
  if (config !== null && imageSourceOf(config) !== null) return { build: [], deploy: ['pull'] };
  return { build: ['resolve', 'checkout', 'build'], deploy: [] };
}

/** Returns the credentials of the registry or the repository that the image comes from. */
export function imageCredentials(config: ReleaseConfig): Credentials {
  const token = gitSourceOf(config)?.gitTokenId ?? null;
  return { registry: imageSourceOf(config)?.registryId ?? null, gitTokens: token === null ? [] : [token] };
}

export const noImageSteps: Steps = { build: [], deploy: [] };
