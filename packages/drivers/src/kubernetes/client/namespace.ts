import type { Namespace } from 'kubernetes-types/core/v1.js';
import { DriverError } from '../../errors.ts';
import { find, type KubernetesObject } from './api.ts';
import { apply, pathTo, type Scope } from './objects.ts';

/**
 * Creates the namespace of an environment, or leaves it as it is. Fails, retryably, while the cluster is deleting a
 * former namespace of that name.
 */
export async function ensureNamespace(scope: Scope, namespace: Namespace, signal: AbortSignal): Promise<void> {
  const found = await find<KubernetesObject>(scope.api, pathTo(namespace), signal);
  if (found?.metadata?.deletionTimestamp !== undefined) {
    throw new DriverError({
      cause: 'ENGINE_FAILED',
      message: `The namespace ${found.metadata.name ?? ''} of the environment is being removed.`,
      hint: 'Deploy again when it is gone.',
      retryable: true,
    });
  }
  await apply(scope, namespace, signal);
}
