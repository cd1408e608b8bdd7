import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Uuid, Words, Named } from '../shape.ts';
import { invitationStatuses, memberRoles } from '../shared/words.ts';

const tag = 'Member';
const members = '/organization/{organizationId}/member';
const invitations = '/organization/{organizationId}/inviteMember';

const Member = Named(
  'Member',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    name: Type.Optional(Type.String()),
    nickname: Type.Optional(Type.String()),
    email: Type.String(),
    profile_picture_url: Type.Optional(Type.String()),
    last_activity_at: Type.Optional(DateTime),
    role: Type.Optional(Words(memberRoles)),
    role_name: Type.Optional(Type.String()),
    role_id: Type.Optional(Uuid),
  }),
);

const Invitation = Named(
  'Invitation',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    email: Type.String(),
    role: Words(memberRoles),
    invitation_link: Type.String(),
    invitation_status: Words(invitationStatuses),
    organization_name: Type.Optional(Type.String()),
    inviter: Type.String(),
    logo_url: Type.Optional(Type.String()),
    role_id: Type.Optional(Uuid),
    role_name: Type.Optional(Type.String()),
    expires_at: Type.Optional(DateTime),
  }),
);

export const getOrganizationMembers = operation({
  id: 'getOrganizationMembers',
  method: 'GET',
  path: members,
  tag,
  summary: 'List the members of an organization',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(Member),
  errors: [],
});

export const editOrganizationMemberRole = operation({
  id: 'editOrganizationMemberRole',
  method: 'PUT',
  path: members,
  record: null,
  tag,
  summary: 'Give a member another role; the owner’s role passes on by transferOwnership only',
  scope: 'ADMIN',
  target: 'organization',
  body: Named('MemberRoleUpdateRequest', Type.Object({ user_id: Uuid, role_id: Uuid })),
  status: 200,
  response: null,
  errors: [400, 409],
});

export const deleteMember = operation({
  id: 'deleteMember',
  method: 'DELETE',
  path: members,
  record: null,
  tag,
  summary: 'Remove a member; their sessions stop working in this organization at once',
  scope: 'ADMIN',
  target: 'organization',
  body: Named('MemberRemovalRequest', Type.Object({ user_id: Uuid })),
  status: 204,
  response: null,
  errors: [400, 409],
});

export const postOrganizationTransferOwnership = operation({
  id: 'postOrganizationTransferOwnership',
  method: 'POST',
  path: '/organization/{organizationId}/transferOwnership',
  tag,
  summary: 'Make another member the owner; the former owner stays as Admin',
  scope: 'ADMIN',
  target: 'organization',
  body: Named('TransferOwnershipRequest', Type.Object({ user_id: Uuid })),
  status: 204,
  response: null,
  errors: [400],
});

export const getOrganizationInvitedMembers = operation({
  id: 'getOrganizationInvitedMembers',
  method: 'GET',
  path: invitations,
  tag,
  summary: 'List the invitations that have not been accepted',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(Invitation),
  errors: [],
});

export const postInviteMember = operation({
  id: 'postInviteMember',
  method: 'POST',
  path: invitations,
  tag,
  summary:
    'Invite a person by e-mail address; who has the link, or signs in with that verified address, may accept within seven days',
  showsCredentials: true,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'InvitationRequest',
    Type.Object({
      email: Type.String({ format: 'email', maxLength: 320 }),
      role: Type.Optional(Words(memberRoles)),
      role_id: Type.Optional(Uuid),
    }),
  ),
  status: 201,
  response: Invitation,
  errors: [400, 409],
});

export const getMemberInvitation = operation({
  id: 'getMemberInvitation',
  method: 'GET',
  path: `${invitations}/{inviteId}`,
  tag,
  summary: 'Read an invitation, as a member of the organization or as the invited person',
  scope: 'READ',
  target: 'invitation',
  status: 200,
  response: Invitation,
  errors: [],
});

export const postAcceptInviteMember = operation({
  id: 'postAcceptInviteMember',
  method: 'POST',
  path: `${invitations}/{inviteId}`,
  event: 'ACCEPT',
  tag,
  summary: 'Accept an invitation to your own, verified e-mail address',
  scope: 'READ',
  target: 'invitation',
  audience: 'people',
  status: 201,
  response: Invitation,
  errors: [409],
});

export const deleteInviteMember = operation({
  id: 'deleteInviteMember',
  method: 'DELETE',
  path: `${invitations}/{inviteId}`,
  tag,
  summary: 'Withdraw an invitation',
  scope: 'ADMIN',
  target: 'organization',
  status: 204,
  response: null,
  errors: [],
});
