import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import {
  builtInRoles,
  operations,
  roleDescriptions,
  roleMay,
  type Body,
  type PathParameters,
  type Response,
} from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import { comparableEmail } from '../../auth/email.ts';
import { accessChanged } from '../../auth/store.ts';
import type { Needs } from '../../deps.ts';
import { makeLink } from '../account/index.ts';
import { queueInvitation, type Mail } from '../mail/index.ts';
import { readOrganization } from '../organization/index.ts';
import { findRole, roleIdOf, roleNameOf, roleWordOf, type RoleReference } from '../role/index.ts';
import { pageLink } from '../shared/page-link.ts';
import { invalid, invalidReference, notFound } from '../shared/problems.ts';
import * as store from './store.ts';

type Invitation = Response<(typeof operations)['getMemberInvitation']>;
type Invitations = Response<(typeof operations)['getOrganizationInvitedMembers']>;
type InviteRequest = Body<(typeof operations)['postInviteMember']>;
type InvitationIds = PathParameters<(typeof operations)['getMemberInvitation']>;

const validDays = 7;

export async function listInvitations(
  deps: Needs<'database', 'host' | 'port' | 'publicUrl'>,
  caller: Caller,
  organizationId: string,
): Promise<Invitations> {
  await readOrganization(deps, caller, organizationId);
  const rows = await deps.database.many(store.invitationList, [organizationId, caller.organizationId]);
  return { results: rows.map((row) => toInvitation(deps, row)) };
}

/**
 * Invites a person. Only this response contains the link with the token: members who may see invitations, but invite
 * nobody, must not accept one. RATE_LIMITED if the invitation would be mailed beyond the limits of mails.
 */
export async function inviteMember(
  deps: Needs<'database' | 'vault', 'host' | 'port' | 'publicUrl' | 'mail'>,
  caller: Caller,
  organizationId: string,
  request: InviteRequest,
): Promise<Invitation> {
  const email = comparableEmail(request.email);
  return deps.database.transaction(async (tx) => {
    const held = await tx.maybe(store.organizationHold, [organizationId, caller.organizationId]);
    if (held === undefined) throw notFound('organization');
    const { role, custom_role_id } = await wantedRole(tx, organizationId, request);
    if ((await tx.maybe(store.memberByEmail, [organizationId, email])) !== undefined) {
      throw new AppError({ code: 'ALREADY_MEMBER', message: `${email} is a member of this organization already.` });
    }
    const id = randomUUID();
    const made = await tx.maybe(store.invitationCreate, [
      organizationId,
      id,
      email,
      role,
      custom_role_id,
      caller.name,
      validDays,
    ]);
    if (made === undefined) {
      throw new AppError({
        code: 'ALREADY_INVITED',
        message: `${email} is invited already. Delete that invitation first to make another one.`,
      });
    }
    await tx.run(store.invitationLinksForget, [id]);
    const token = await makeLink(tx, { kind: 'INVITATION', invitationId: id, hours: validDays * 24 });
    const row = await tx.one(store.invitationRead, [organizationId, caller.organizationId, id]);
    const link = pageLink(deps.config, 'invitation', token);
    if (deps.config.mail !== null) {
      const mail = mailOf(row, link);
      await queueInvitation(deps, tx, { mail, recipient: email, organizationId, invitationId: id, hours: validDays * 24 });
    }
    return { ...toInvitation(deps, row), invitation_link: link };
  });
}

function mailOf({ organization_name: organization, inviter }: store.InvitationRow, link: string): Mail {
  const text = `${inviter} invites you to the organization ${organization} on Davit. Accept here:

${link}

The link works once, for ${validDays} days. If you do not know who this is, do nothing.
`;
  return { subject: `Invitation to ${organization} on Davit`, text };
}

/** Returns the requested role. Without a role, it is the role with the fewest permissions. */
async function wantedRole(tx: Queryable, organizationId: string, { role, role_id }: InviteRequest): Promise<RoleReference> {
  if (role === 'OWNER')
    throw invalid('role', 'must be another role than OWNER: use transferOwnership once the person is a member');
  if (role_id === undefined) {
    const builtIn = builtInRoles.find((one) => roleDescriptions[one].word === role && one !== 'BILLING_MANAGER') ?? 'VIEWER';
    return { role: builtIn, custom_role_id: null, custom_role_name: null };
  }
  const found = await findRole(tx, organizationId, role_id);
  if (found === undefined) throw invalidReference('role_id', 'is not a role of this organization; availableRole lists them');
  if (found.role === 'OWNER') {
    throw invalid('role_id', 'must be another role than Owner: use transferOwnership once the person is a member');
  }
  return found;
}

export async function readInvitation(
  deps: Needs<'database', 'host' | 'port' | 'publicUrl'>,
  caller: Caller,
  ids: InvitationIds,
): Promise<Invitation> {
  const row = await deps.database.maybe(store.invitationRead, [ids.organizationId, caller.organizationId, ids.inviteId]);
  if (row === undefined || !maySee(caller, row)) throw notFound('invitation');
  return toInvitation(deps, row);
}

/**
 * Returns whether the caller may see an invitation: members whose role allows it, and the invited person. An unverified
 * address proves nothing, because it may be anybody's.
 */
function maySee({ access, person }: Caller, row: store.InvitationRow): boolean {
  if (access.kind === 'scope' || person?.verifiedEmail === row.email) return true;
  return access.kind === 'role' && roleMay(access.role, operations.getMemberInvitation);
}

export async function acceptInvitation(
  deps: Needs<'database' | 'tokens', 'host' | 'port' | 'publicUrl'>,
  caller: Caller,
  ids: InvitationIds,
): Promise<Invitation> {
  const { person } = caller;
  const row = await deps.database.maybe(store.invitationRead, [ids.organizationId, caller.organizationId, ids.inviteId]);
  if (row === undefined || person === null || !maySee(caller, row)) throw notFound('invitation');
  if (person.memberships.has(row.organization_id)) throw alreadyMember();
  if (row.is_expired) {
    throw new AppError({ code: 'INVITATION_EXPIRED', message: 'The invitation has expired. Ask for a new one.' });
  }
  await deps.database.transaction(async (tx) => {
    // The organization is locked first, as in all changes of members. The changes are serialized and cannot deadlock.
    await tx.maybe(store.organizationHold, [row.organization_id, row.organization_id]);
    const taken = await tx.maybe(store.invitationTake, [row.organization_id, row.id, person.verifiedEmail]);
    if (taken === undefined) throw notFound('invitation');
    const values = [row.organization_id, person.id, taken.role, taken.custom_role_id];
    if ((await tx.run(store.memberCreate, values)) === 0) throw alreadyMember();
    await tx.run(accessChanged);
  });
  deps.tokens.forget();
  return toInvitation(deps, row);
}

export function alreadyMember(): AppError {
  return new AppError({ code: 'ALREADY_MEMBER', message: 'You are a member of this organization already.' });
}

export async function deleteInvitation(deps: Needs<'database'>, caller: Caller, ids: InvitationIds): Promise<void> {
  const count = await deps.database.run(store.invitationDelete, [ids.organizationId, caller.organizationId, ids.inviteId]);
  if (count === 0) throw notFound('invitation');
}

function toInvitation({ config }: Needs<never, 'host' | 'port' | 'publicUrl'>, row: store.InvitationRow): Invitation {
  const base = config.publicUrl ?? `http://${config.host}:${config.port}`;
  return {
    id: row.id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    email: row.email,
    role: roleWordOf(row),
    invitation_link: `${base}/console/invitation?organization=${row.organization_id}&invitation=${row.id}`,
    invitation_status: row.is_expired ? 'EXPIRED' : 'PENDING',
    organization_name: row.organization_name,
    inviter: row.inviter,
    ...(row.logo_url === null ? {} : { logo_url: row.logo_url }),
    role_id: roleIdOf(row),
    role_name: roleNameOf(row),
    expires_at: row.expires_at,
  };
}
