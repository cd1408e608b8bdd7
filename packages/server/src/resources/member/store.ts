import type { BuiltInRole } from '@davit/contract';
import { statement } from '@davit/db';

interface RoleColumns {
  readonly role: BuiltInRole | null;
  readonly custom_role_id: string | null;
  readonly custom_role_name: string | null;
}

export interface MemberRow extends RoleColumns {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string | null;
  readonly nickname: string | null;
  readonly email: string | null;
  readonly subject: string;
  readonly profile_picture_url: string | null;
  readonly last_activity_at: string;
}

export const memberList = statement<MemberRow>(
  'member_list',
  `select person.id, membership.created_at, membership.updated_at, person.name, person.nickname, person.email, person.subject,
          person.picture_url as profile_picture_url, person.last_activity_at,
          case when organization.owner_id = person.id then 'OWNER' else membership.role end as role,
          case when organization.owner_id = person.id then null else membership.custom_role_id end as custom_role_id,
          custom_role.name as custom_role_name
     from membership
     join organization on organization.id = membership.organization_id
     join person on person.id = membership.person_id
     left join custom_role on custom_role.id = membership.custom_role_id
    where membership.organization_id = $1 and ($2::uuid is null or membership.organization_id = $2)
    order by membership.created_at, person.id`,
);

/**
 * Serializes changes of the members of an organization and of their roles. Each change sees the result of the one
 * before.
 */
export const organizationHold = statement<{ owner_id: string }>(
  'member_organization_hold',
  'select owner_id from organization where id = $1 and ($2::uuid is null or id = $2) for update',
);

export const memberRoleEdit = statement(
  'member_role_edit',
  `update membership set role = $3, custom_role_id = $4, updated_at = clock_timestamp()
    where organization_id = $1 and person_id = $2`,
);

export const memberDelete = statement('member_delete', 'delete from membership where organization_id = $1 and person_id = $2');

/**
 * Makes the member's row that of an administrator. This is the role that the person has again when another person
 * becomes owner.
 */
export const memberMakeAdmin = statement(
  'member_make_admin',
  `update membership set role = 'ADMIN', custom_role_id = null, updated_at = clock_timestamp()
    where organization_id = $1 and person_id = $2`,
);

export const ownerSet = statement(
  'member_owner_set',
  'update organization set owner_id = $2, updated_at = clock_timestamp() where id = $1',
);

export interface InvitationRow extends RoleColumns {
  readonly id: string;
  readonly organization_id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly email: string;
  readonly inviter: string;
  readonly expires_at: string;
  readonly is_expired: boolean;
  readonly organization_name: string;
  readonly logo_url: string | null;
}

export const invitationColumns = `invitation.id, invitation.organization_id, invitation.created_at, invitation.updated_at, invitation.email,
  invitation.inviter, invitation.expires_at, invitation.expires_at <= clock_timestamp() as is_expired, invitation.role,
  invitation.custom_role_id, custom_role.name as custom_role_name, organization.name as organization_name, organization.logo_url`;
export const invitationTables = `join organization on organization.id = invitation.organization_id
     left join custom_role on custom_role.id = invitation.custom_role_id`;
const visible = 'invitation.organization_id = $1 and ($2::uuid is null or invitation.organization_id = $2)';

export const invitationList = statement<InvitationRow>(
  'invitation_list',
  `select ${invitationColumns} from invitation ${invitationTables}
    where ${visible} order by invitation.created_at, invitation.id`,
);

export const invitationRead = statement<InvitationRow>(
  'invitation_read',
  `select ${invitationColumns} from invitation ${invitationTables} where ${visible} and invitation.id = $3`,
);

/** Creates an invitation. An expired invitation is replaced. If one is pending, nothing is created. */
export const invitationCreate = statement<{ id: string }>(
  'invitation_create',
  `insert into invitation (id, organization_id, email, role, custom_role_id, inviter, expires_at)
   values ($2, $1, $3, $4, $5, $6, clock_timestamp() + make_interval(days => $7))
   on conflict (organization_id, email) do update
      set id = excluded.id, role = excluded.role, custom_role_id = excluded.custom_role_id, inviter = excluded.inviter,
          expires_at = excluded.expires_at, created_at = clock_timestamp(), updated_at = clock_timestamp()
    where invitation.expires_at <= clock_timestamp()
   returning id`,
);

export const memberByEmail = statement<{ id: string }>(
  'member_by_email',
  `select person.id from membership join person on person.id = membership.person_id
    where membership.organization_id = $1 and (person.email_verified or exists (select from local_account where local_account.person_id = person.id))
      and lower(person.email) = $2 limit 1`,
);

/** Takes an invitation. If two persons accept at once, only one of them gets it. */
export const invitationTake = statement<{ role: BuiltInRole | null; custom_role_id: string | null }>(
  'invitation_take',
  `delete from invitation where organization_id = $1 and id = $2 and email = $3 and expires_at > clock_timestamp()
   returning role, custom_role_id`,
);

/** Takes an invitation whose link was taken before, so it is there and pending. */
export const invitationTakeById = statement<{ role: BuiltInRole | null; custom_role_id: string | null }>(
  'invitation_take_by_id',
  'delete from invitation where organization_id = $1 and id = $2 returning role, custom_role_id',
);

/** Deletes the links of an expired invitation that a new one has replaced. */
export const invitationLinksForget = statement('invitation_links_forget', 'delete from one_time_link where invitation_id = $1');

export const memberCreate = statement(
  'member_create',
  `insert into membership (organization_id, person_id, role, custom_role_id) values ($1, $2, $3, $4)
   on conflict (organization_id, person_id) do nothing`,
);

export const invitationDelete = statement('invitation_delete', `delete from invitation where ${visible} and id = $3`);
