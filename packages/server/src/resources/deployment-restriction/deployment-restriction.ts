import { randomUUID } from 'node:crypto';
import { AppError, hasControlCharacter } from '@davit/base';
import type { Body, operations, Response, ServiceType } from '@davit/contract';
import { isUniqueViolation, type Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { lockService } from '../service/index.ts';
import { invalid, leavesRoot, notFound } from '../shared/problems.ts';
import type { IdMap } from '../shared/relink.ts';
import * as store from './store.ts';

/*
 * Restrictions of automatic deployments to changed paths of the service's repository. If there are MATCH restrictions,
 * one of them must match a changed path. No EXCLUDE restriction may match. The rules are the same for every type of
 * service that is built from git.
 */

type Restrictions = Response<(typeof operations)['getApplicationDeploymentRestrictions']>;
type Restriction = Restrictions['results'][number];
type RestrictionRequest = Body<(typeof operations)['createApplicationDeploymentRestriction']>;

/** The service in a path, including its type. */
export interface RestrictedService {
  readonly id: string;
  readonly type: ServiceType;
}
type RestrictionIds = RestrictedService & { readonly restrictionId: string };

export async function listRestrictions(
  deps: Needs<'database'>,
  caller: Caller,
  { id, type }: RestrictedService,
): Promise<Restrictions> {
  const found = await deps.database.maybe(store.findService, [id, type, caller.organizationId]);
  if (found === undefined) throw notFound('service');
  return { results: await deps.database.many(store.listRestrictions, [id]) };
}

/** Fails with ALREADY_EXISTS if the service already has an identical restriction. */
export async function createRestriction(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  service: RestrictedService,
  request: RestrictionRequest,
): Promise<Restriction> {
  checkPath(request.value);
  return refuseTwice(() =>
    deps.database.transaction(async (tx) => {
      const facts = await lockService(deps, tx, caller, { ...service, purpose: 'add' });
      const values = [randomUUID(), facts.organization_id, facts.id, request.mode, request.type, request.value];
      return tx.one(store.createRestriction, values);
    }),
  );
}

export async function editRestriction(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  { restrictionId, ...service }: RestrictionIds,
  request: RestrictionRequest,
): Promise<Restriction> {
  checkPath(request.value);
  return refuseTwice(() =>
    deps.database.transaction(async (tx) => {
      await lockService(deps, tx, caller, { ...service, purpose: 'add' });
      const values = [restrictionId, service.id, request.mode, request.type, request.value];
      const row = await tx.maybe(store.editRestriction, values);
      if (row === undefined) throw notFound('deployment restriction');
      return row;
    }),
  );
}

export async function deleteRestriction(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  { restrictionId, ...service }: RestrictionIds,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    await lockService(deps, tx, caller, { ...service, purpose: 'add' });
    if ((await tx.run(store.deleteRestriction, [restrictionId, service.id])) === 0) throw notFound('deployment restriction');
  });
}

/** Copies the restrictions of services to the copies of these services. */
export async function cloneRestrictions(tx: Queryable, services: IdMap): Promise<void> {
  await tx.run(store.copyRestrictions, [[...services.keys()], [...services.values()]]);
}

function checkPath(value: string): void {
  if (value.trim() === '' || hasControlCharacter(value) || leavesRoot(value)) {
    throw invalid('value', 'must be a path in the repository, such as services/web, without .. and control characters');
  }
}

async function refuseTwice(write: () => Promise<Restriction>): Promise<Restriction> {
  try {
    return await write();
  } catch (error) {
    if (!isUniqueViolation(error, 'deployment_restriction_once')) throw error;
    throw new AppError({ code: 'ALREADY_EXISTS', message: 'The service has exactly this restriction already.', cause: error });
  }
}
