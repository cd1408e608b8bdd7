import { inParallel } from '@davit/base';
import type { Service } from 'kubernetes-types/core/v1.js';
import { call, type KubernetesObject } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { controllerKinds, pathOf, type Scope } from '../client/objects.ts';
import { label, labelSelector } from '../names/labels.ts';

const atOnce = 8;

/**
 * Points the Services of a service to the instances of a rollout, which gets all new connections from then on. Does
 * nothing if the rollout has no instances.
 */
export async function serveRollout(
  scope: Scope,
  { service, rollout }: { readonly service: string; readonly rollout: string },
  signal: AbortSignal,
): Promise<void> {
  const { api, installation } = scope;
  const query = { labelSelector: labelSelector(installation, 'address', { service }) };
  const { items } = await list<Service>(api, { path: pathOf('Service'), query }, signal);
  const stale = items.filter(({ spec }) => spec?.selector?.[label.rollout] !== rollout);
  if (stale.length === 0 || !(await hasInstances(scope, { service, rollout }, signal))) return;
  await inParallel(stale, atOnce, ({ metadata }) =>
    call(api, {
      method: 'PATCH',
      path: pathOf('Service', { namespace: metadata?.namespace, name: metadata?.name ?? '' }),
      query: { fieldManager: 'davit' },
      body: { spec: { selector: { [label.rollout]: rollout } } },
      contentType: 'application/merge-patch+json',
      signal,
      accept: [404],
    }),
  );
}

/** Returns whether a rollout has a controller that creates instances. */
export async function hasInstances(
  { api, installation }: Scope,
  selector: { readonly service: string; readonly rollout: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { service, rollout } = selector;
  const query = { labelSelector: labelSelector(installation, 'instance', { service, rollout }), limit: '1' };
  const lists = await Promise.all(
    controllerKinds.map((kind) => list<KubernetesObject>(api, { path: pathOf(kind), query }, signal)),
  );
  return lists.some(({ items }) => items.some(({ metadata }) => metadata?.deletionTimestamp === undefined));
}
