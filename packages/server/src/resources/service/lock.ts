import { AppError } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { openEnvironment } from '../environment/index.ts';
import { notFound } from '../shared/problems.ts';
import type { ServiceFacts } from './rows.ts';
import { findEnvironmentOfService, lockFacts, setDeleting, shareFacts } from './store.ts';

/** A service by its path. The type is part of the path: an application is not found under `/job`. */
export interface ServiceReference {
  readonly id: string;
  readonly type: string;
}

/**
 * The reason for a lock. `change`: the service or its list of parts is written. `add`: a part is added to the service.
 * `deploy`: like `change`, and fails if billing forbids deployments.
 */
export type Purpose = 'change' | 'add' | 'deploy';

/**
 * Locks a service that the caller may see, after its environment. Fails with NOT_FOUND, with BEING_DELETED while the
 * service or its environment is being deleted, or with BILLING_RESTRICTION.
 */
export async function lockService(
  deps: Needs<'engine'>,
  tx: Queryable,
  caller: Caller,
  { id, type, purpose }: ServiceReference & { readonly purpose: Purpose },
): Promise<ServiceFacts> {
  const found = await tx.maybe(findEnvironmentOfService, [id, type, caller.organizationId]);
  if (found === undefined) throw notFound('service');
  await openEnvironment(tx, caller, found.environment_id, purpose === 'deploy' ? 'deploy' : 'change');
  const facts = await tx.maybe(purpose === 'add' ? shareFacts : lockFacts, [id]);
  if (facts === undefined) throw notFound('service');
  await assertStays(deps, tx, facts);
  if (facts.deleting && purpose !== 'add') await tx.run(setDeleting, [id, false]);
  return facts;
}

/**
 * Fails with BEING_DELETED while a deletion is queued or running. A failed, canceled or withdrawn deletion has no
 * effect.
 */
export async function assertStays(deps: Needs<'engine'>, db: Queryable, facts: ServiceFacts): Promise<void> {
  if (!(await isBeingDeleted(deps, db, facts))) return;
  throw new AppError({
    code: 'BEING_DELETED',
    message: `${facts.name} is being deleted; it no longer accepts changes or actions.`,
  });
}

export async function isBeingDeleted(deps: Needs<'engine'>, db: Queryable, facts: ServiceFacts): Promise<boolean> {
  if (!facts.deleting) return false;
  const [view] = await deps.engine.services(db, [facts.id]);
  const isAtIt = view?.action === 'DELETE' && (view.actionStatus === 'ONGOING' || view.actionStatus === 'CANCELING');
  // The view shows the running or first request only; a deletion may be queued behind a deployment.
  return isAtIt || (await deps.engine.queueOfService(db, facts.id)).some(({ action }) => action === 'DELETE');
}
