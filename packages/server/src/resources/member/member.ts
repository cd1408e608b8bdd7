import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import { accessChanged } from '../../auth/store.ts';
import type { Needs } from '../../deps.ts';
import { readOrganization } from '../organization/index.ts';
import { findRole, roleIdOf, roleNameOf, roleWordOf } from '../role/index.ts';
import { invalid, invalidReference, notFound } from '../shared/problems.ts';
import * as store from './store.ts';

type Members = Response<(typeof operations)['getOrganizationMembers']>;
type RoleRequest = Body<(typeof operations)['editOrganizationMemberRole']>;

export async function listMembers(deps: Needs<'database'>, caller: Caller, organizationId: string): Promise<Members> {
  await readOrganization(deps, caller, organizationId);
  const rows = await deps.database.many(store.memberList, [organizationId, caller.organizationId]);
  return { results: rows.map(toMember) };
}

export async function editMemberRole(
  deps: Needs<'database' | 'tokens'>,
  caller: Caller,
  organizationId: string,
  { user_id, role_id }: RoleRequest,
): Promise<void> {
  await changeMembers(deps, caller, organizationId, async (tx, owner) => {
    const role = await findRole(tx, organizationId, role_id);
    if (role === undefined) throw invalidReference('role_id', 'is not a role of this organization; availableRole lists them');
    if (role.role === 'OWNER') throw invalid('role_id', 'must be another role than Owner: use transferOwnership');
    if (isSame(owner, user_id)) throw ownerRequired('has the role of the owner, which cannot be changed');
    const count = await tx.run(store.memberRoleEdit, [organizationId, user_id, role.role, role.custom_role_id]);
    if (count === 0) throw noMember();
  });
}

export async function deleteMember(
  deps: Needs<'database' | 'tokens'>,
  caller: Caller,
  organizationId: string,
  personId: string,
): Promise<void> {
  await changeMembers(deps, caller, organizationId, async (tx, owner) => {
    if (isSame(owner, personId)) throw ownerRequired('owns the organization and cannot be removed');
    if ((await tx.run(store.memberDelete, [organizationId, personId])) === 0) throw noMember();
  });
}

/** Transfers the ownership. If the person already owns the organization, nothing changes. */
export async function transferOwnership(
  deps: Needs<'database' | 'tokens'>,
  caller: Caller,
  organizationId: string,
  personId: string,
): Promise<void> {
  await changeMembers(deps, caller, organizationId, async (tx) => {
    if ((await tx.run(store.memberMakeAdmin, [organizationId, personId])) === 0) throw noMember();
    await tx.run(store.ownerSet, [organizationId, personId]);
  });
}

/** Runs a change of an organization's members under an exclusive lock, and notifies all processes. */
async function changeMembers(
  deps: Needs<'database' | 'tokens'>,
  caller: Caller,
  organizationId: string,
  change: (tx: Queryable, owner: string) => Promise<void>,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const organization = await tx.maybe(store.organizationHold, [organizationId, caller.organizationId]);
    if (organization === undefined) throw notFound('organization');
    await change(tx, organization.owner_id);
    await tx.run(accessChanged);
  });
  deps.tokens.forget();
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

function noMember(): AppError {
  return invalidReference('user_id', 'is not a member of this organization');
}

function ownerRequired(what: string): AppError {
  return new AppError({ code: 'OWNER_REQUIRED', message: `This member ${what}. Use transferOwnership first.` });
}

function toMember(row: store.MemberRow): Members['results'][number] {
  const { name, nickname, profile_picture_url } = row;
  return {
    id: row.id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    name: name ?? nickname ?? row.email ?? row.subject,
    ...(nickname === null ? {} : { nickname }),
    email: row.email ?? '',
    ...(profile_picture_url === null ? {} : { profile_picture_url }),
    last_activity_at: row.last_activity_at,
    role: roleWordOf(row),
    role_name: roleNameOf(row),
    role_id: roleIdOf(row),
  };
}
