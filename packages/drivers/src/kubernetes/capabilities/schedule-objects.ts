import { inParallel } from '@davit/base';
import { call, type KubernetesObject } from '../client/api.ts';
import { labelledWhereSeen } from '../client/by-label.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { labelSelector } from '../names/labels.ts';

const atOnce = 4;

/**
 * Returns the CronJobs of a service, or all of the installation. CronJobs that are being deleted are left out, because
 * they start no more runs. An account that may not read CronJobs has created none.
 */
export async function findSchedules(
  { api, installation }: Scope,
  owner: { readonly environment?: string; readonly service?: string },
  signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const found = await labelledWhereSeen(api, ['CronJob'], labelSelector(installation, 'schedule', owner), signal);
  return found.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
}

/** Deletes the CronJobs of a service except one. Their Jobs stay, because these are runs that end by themselves. */
export async function removeSchedules(
  scope: Scope,
  owner: { readonly environment: string; readonly service: string },
  { except }: { readonly except: string | null },
  signal: AbortSignal,
): Promise<void> {
  const found = (await findSchedules(scope, owner, signal)).filter(({ metadata }) => metadata?.name !== except);
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Orphan' };
  await inParallel(found, atOnce, ({ metadata }) =>
    call(scope.api, {
      method: 'DELETE',
      path: pathOf('CronJob', { namespace: metadata?.namespace, name: metadata?.name }),
      body,
      signal,
      accept: [404, 409],
    }),
  );
}
