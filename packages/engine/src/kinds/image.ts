import type { GitReleaseSource, ImageReleaseSource, ReleaseConfig } from '../model.ts';
import type { Credentials, Steps } from './kind.ts';

/** Where the image of a release is pulled from; null: it is built, or there is none. */
export function imageSourceOf({ source }: Pick<ReleaseConfig, 'source'>): ImageReleaseSource | null {
  return source.type === 'IMAGE' ? source : null;
}

/** Where the image of a release is built from; null: it is pulled, or there is none. */
export function gitSourceOf({ source }: Pick<ReleaseConfig, 'source'>): GitReleaseSource | null {
  return source.type === 'GIT' ? source : null;
}

/** What makes the image. One that is not built has no building phase: its pull is part of the deploying. */
export function imageSteps(config: ReleaseConfig | null): Steps {
  if (config !== null && imageSourceOf(config) !== null) return { build: [], deploy: ['pull'] };
  return { build: ['resolve', 'checkout', 'build'], deploy: [] };
}

/** Of the registry or the repository that the image comes from. */
export function imageCredentials(config: ReleaseConfig): Credentials {
  const token = gitSourceOf(config)?.gitTokenId ?? null;
  return { registry: imageSourceOf(config)?.registryId ?? null, gitTokens: token === null ? [] : [token] };
}

export const noImageSteps: Steps = { build: [], deploy: [] };
