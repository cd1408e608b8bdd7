import type { ReleaseConfig } from '../model.ts';
import { build } from '../steps/build.ts';
import { checkout } from '../steps/checkout.ts';
import { pull } from '../steps/pull.ts';
import { resolve } from '../steps/resolve.ts';
import type { Step } from '../steps/step.ts';
import { gitSourceOf, imageSourceOf } from '../workload/image-source.ts';
import type { ImageStep } from './image-plan.ts';
import type { Credentials } from './traits.ts';

export const imageSteps: Readonly<Record<ImageStep, Step>> = { resolve, checkout, build, pull };

/** Returns the credentials of the registry or the repository that the image comes from. */
export function imageCredentials(config: ReleaseConfig): Credentials {
  const token = gitSourceOf(config)?.gitTokenId ?? null;
  return { registry: imageSourceOf(config)?.registryId ?? null, gitTokens: token === null ? [] : [token] };
}
