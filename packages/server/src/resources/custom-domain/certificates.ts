import type { operations, Response } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import { certificateStatus } from '../certificate/index.ts';
import * as store from './store.ts';

export type CertificateWord = Response<(typeof operations)['getCustomDomainStatus']>['certificate_status'];

/**
 * Returns the known certificate statuses of those domains of a service that are in `hosts`. The service must be
 * deployed under these hosts. Nothing is contacted.
 */
export async function certificateStatuses(
  deps: Needs<'database', 'acme' | 'gatewayHttpsPort'>,
  serviceId: string,
  hosts: ReadonlySet<string>,
): Promise<CertificateWord[]> {
  const rows = (await deps.database.many(store.listDomainsOfType, [serviceId])).filter(({ host }) => hosts.has(host));
  const statuses = await Promise.all(
    rows.map((row) => certificateStatus(deps, row, { isProven: row.proven_at !== null, isAnswered: true })),
  );
  return statuses.map(({ certificate_status }) => certificate_status);
}
