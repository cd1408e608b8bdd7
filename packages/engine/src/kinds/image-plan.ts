import type { Action, ReleaseConfig } from '../model.ts';
import type { Steps } from '../plan/plan.ts';
import { imageSourceOf } from '../workload/image-source.ts';

/** The steps that provide an image. */
export type ImageStep = 'resolve' | 'checkout' | 'build' | 'pull';

/**
 * Returns the steps that provide the image of a service that is deployed or restarted. An image that is not built has
 * no building phase: its pull is part of the deployment.
 */
export function planImage(
  action: Action,
  { config, hasImage }: { readonly config: ReleaseConfig | null; readonly hasImage: boolean },
): Steps<ImageStep> {
  if (hasImage || action === 'RESTART') return { build: [], deploy: [] };
  if (config !== null && imageSourceOf(config) !== null) return { build: [], deploy: ['pull'] };
  return { build: ['resolve', 'checkout', 'build'], deploy: [] };
}
