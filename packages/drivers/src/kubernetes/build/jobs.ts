import { abortablePause } from '@davit/base';
import type { Job } from 'kubernetes-types/batch/v1.js';
import { DriverError } from '../../errors.ts';
import type { ClusterBuildRequest } from '../../image-builder.ts';
import { find, type KubernetesObject } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { apply, pathOf, pathTo, remove, type Scope } from '../client/objects.ts';
import { podsOf } from '../client/pods.ts';
import { label } from '../names/labels.ts';
import { buildNamespaceName } from '../names/names.ts';
import { toBuildNamespace, toBuildPolicy } from './manifests.ts';
import { buildLabels } from './paths.ts';

const tidyMilliseconds = 30_000;
const againMilliseconds = 500;

/**
 * Prepares the namespace of builds and deletes former builds of the same image there, which a dead process left behind.
 */
export async function prepare(scope: Scope, request: ClusterBuildRequest, signal: AbortSignal): Promise<void> {
  const { api, installation } = scope;
  const namespace = toBuildNamespace(installation);
  const found = await find<KubernetesObject>(api, pathTo(namespace), signal);
  if (found?.metadata?.deletionTimestamp !== undefined) {
    const message = `The namespace ${found.metadata.name ?? ''} of builds is being removed.`;
    throw new DriverError({ cause: 'ENGINE_FAILED', message, hint: 'Deploy again when it is gone.', retryable: true });
  }
  await apply(scope, namespace, signal);
  await apply(scope, toBuildPolicy(installation), signal);
  const ids = { namespace: buildNamespaceName(installation) };
  const labelSelector = `${label.installation}=${installation},${label.build}=${buildLabels(request)[label.build]}`;
  const former = await list<Job>(api, { path: pathOf('Job', ids), query: { labelSelector } }, signal);
  for (const { metadata } of former.items) await end(scope, { ...ids, name: metadata?.name ?? '' }, signal);
}

/** Deletes a build and, immediately, its pods. */
async function end(
  scope: Scope,
  site: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<void> {
  await remove(scope.api, pathOf('Job', site), signal);
  for (const { metadata } of await podsOf(scope, site, signal))
    await remove(scope.api, pathOf('Pod', { namespace: site.namespace, name: metadata?.name ?? '' }), signal);
}

/**
 * Works like `end`, but retries until the build is deleted: an API server that is busy for a moment must not leave a
 * pod running for an hour.
 */
export async function tidy(scope: Scope, site: { readonly namespace: string; readonly name: string }): Promise<void> {
  const signal = AbortSignal.timeout(tidyMilliseconds);
  for (;;) {
    const failure: unknown = await end(scope, site, signal).then(
      () => null,
      (error: unknown) => error,
    );
    if (failure === null) {
      const left = await find<Job>(scope.api, pathOf('Job', site), signal);
      if (left === null || left.metadata?.deletionTimestamp !== undefined) return;
    } else if (signal.aborted) throw failure;
    await abortablePause(againMilliseconds, signal);
  }
}
