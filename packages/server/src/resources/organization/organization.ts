import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import { isForeignKeyViolation, type Queryable, type Statement } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { inUse, refuseTakenName } from '../shared/naming.ts';
import { localDriver } from '../../local-driver.ts';
import * as store from './store.ts';

export type Organization = Response<(typeof operations)['getOrganization']>;
type CreateRequest = Body<(typeof operations)['createOrganization']>;
type EditRequest = Body<(typeof operations)['editOrganization']>;
type Organizations = Response<(typeof operations)['listOrganization']>;

const defaultPlan = 'TEAM_2025';
/** Number of days that every plan keeps the audit log. */
export const auditLogDays = 30;

/**
 * Creates an organization, which is owned by the person who creates it. Of the tokens, only the administrator's may
 * create one, because other tokens could not see the new organization.
 */
export async function createOrganization(
  deps: Needs<'database' | 'tokens'>,
  caller: Caller,
  request: CreateRequest,
): Promise<Organization> {
  const { person } = caller;
  if (person === null && caller.organizationId !== null) {
    throw new AppError({
      code: 'FORBIDDEN',
      message:
        'Organizations are created by people, or with a token of the instance administrator; this one belongs to an organization.',
    });
  }
  const { name, plan, ...fields } = request;
  const owner = person?.id ?? null;
  const values = [randomUUID(), name, plan ?? defaultPlan, caller.actor, JSON.stringify(fields), owner, localDriver];
  const row = await refuseTaken(name, () => deps.database.one(store.organizationCreate, values));
  if (person !== null) deps.tokens.forget();
  return toOrganization(row);
}

/** Creates an organization for a person without one, in the transaction that creates the person. Returns its id. */
export async function createOwnedOrganization(tx: Queryable, personId: string, name: string): Promise<string> {
  const values = [randomUUID(), name, defaultPlan, personId, '{}', personId, localDriver];
  return (await refuseTaken(name, () => tx.one(store.organizationCreate, values))).id;
}

/**
 * Returns all organizations that the caller may see. In addition to `results`, the response has the fields of the
 * caller's own organization, or of the oldest one for an instance-wide caller (D2).
 */
export async function listOrganizations(deps: Needs<'database'>, caller: Caller): Promise<Organizations> {
  const { person, organizationId } = caller;
  const own = organizationId === null ? null : [organizationId];
  const seen = person === null ? own : [...person.memberships.keys()];
  const results = (await deps.database.many(store.organizationList, [seen])).map(toOrganization);
  return { results, ...results[0] };
}

export async function readOrganization(deps: Needs<'database'>, caller: Caller, id: string): Promise<Organization> {
  const row = await deps.database.maybe(store.organizationRead, [id, caller.organizationId]);
  if (row === undefined) throw notFound('organization');
  return toOrganization(row);
}

/**
 * Returns the records of an organization that a statement lists. Its parameters are the organization and that of the
 * caller. Fails with NOT_FOUND if the caller may not see the organization, which an empty list alone does not show.
 */
export async function recordsOf<Row>(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  list: Statement<Row>,
): Promise<Row[]> {
  const rows = await deps.database.many(list, [organizationId, caller.organizationId]);
  if (rows.length === 0) await readOrganization(deps, caller, organizationId);
  return rows;
}

export async function editOrganization(
  deps: Needs<'database'>,
  caller: Caller,
  id: string,
  request: EditRequest,
): Promise<Organization> {
  const row = await refuseTaken(request.name, () =>
    deps.database.maybe(store.organizationEdit, [id, caller.organizationId, JSON.stringify(request)]),
  );
  if (row === undefined) throw notFound('organization');
  return toOrganization(row);
}

/** Deletes an organization with its clusters, tokens and git tokens. */
export async function deleteOrganization(deps: Needs<'database' | 'tokens'>, caller: Caller, id: string): Promise<void> {
  try {
    const count = await deps.database.run(store.organizationDelete, [id, caller.organizationId]);
    if (count === 0) throw notFound('organization');
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error;
    const names = (await deps.database.many(store.projectNames, [id])).map(({ name }) => name);
    throw inUse('The organization', { noun: 'the projects', names });
  }
  deps.tokens.forget();
}

function refuseTaken<Result>(name: string | undefined, write: () => Promise<Result>): Promise<Result> {
  return refuseTakenName({ index: 'organization_name', noun: 'organization', name, where: 'on this instance' }, write);
}

function toOrganization(row: store.OrganizationRow): Organization {
  return { ...row, organization_plan: { plan: row.plan, audit_logs_retention_in_days: auditLogDays } };
}
