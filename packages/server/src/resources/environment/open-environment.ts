import { AppError } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { EnvironmentRef } from '@davit/engine/port';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import { checkDeployed } from '../cluster/index.ts';
import { checkBilling } from '../organization/index.ts';
import * as store from './store.ts';

/**
 * The purpose for which an environment is opened. It determines how the environment is locked until the transaction
 * ends:
 * - `read`: no lock.
 * - `change`: blocks deletion. Fails if the environment is being deleted.
 * - `deploy`: like `change`. Also fails if billing forbids deployments or the cluster is only recorded.
 * - `order`: exclusive lock, for operations that must be serialized. Fails if the environment is being deleted.
 * - `delete`: like `order`, but also works while the environment is being deleted.
 */
export type Purpose = 'read' | 'change' | 'deploy' | 'order' | 'delete';

const statements = {
  read: store.environmentFacts,
  change: store.environmentHold,
  deploy: store.environmentHold,
  order: store.environmentLock,
  delete: store.environmentLock,
} as const;

export interface OpenEnvironment extends EnvironmentRef {
  readonly deleting: boolean;
}

/**
 * Opens an environment that the caller may see. Fails with NOT_FOUND, BEING_DELETED, BILLING_RESTRICTION or
 * CLUSTER_NOT_DEPLOYED.
 */
export async function openEnvironment(tx: Queryable, caller: Caller, id: string, purpose: Purpose): Promise<OpenEnvironment> {
  const row = await tx.maybe(statements[purpose], [id, caller.organizationId]);
  if (row === undefined) throw notFound('environment');
  if (purpose !== 'read' && purpose !== 'delete') {
    if (row.deleting) throw beingDeleted();
    if (row.marked) await tx.run(store.environmentMark, [id, false]);
  }
  if (purpose === 'deploy') {
    checkBilling(row.billing_deployment_restriction, row.is_demo);
    checkDeployed({ ...row, name: row.cluster_name });
  }
  return {
    organizationId: row.organization_id,
    projectId: row.project_id,
    environmentId: id,
    clusterId: row.cluster_id,
    driver: row.driver,
    deleting: row.deleting,
  };
}

function beingDeleted(): AppError {
  return new AppError({
    code: 'BEING_DELETED',
    message: 'The environment is being deleted; nothing in it can be changed.',
  });
}
