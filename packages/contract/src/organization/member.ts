import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Named, Uuid, Words } from '../shape.ts';
import { invitationStatuses, memberRoles } from '../shared/words.ts';

const tag = 'Member';
const members = '/organization/{organizationId}/member';
const invitations = '/organization/{organizationId}/inviteMember';

const Member = Named(
  'Member',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    name: Type.Optional(about('The full name of the person. Absent: unknown.', Type.String())),
    nickname: Type.Optional(about('The short name of the person. Absent: unknown.', Type.String())),
    email: about('The e-mail address of the person.', Type.String()),
    profile_picture_url: Type.Optional(about('The picture of the person. Absent: none.', Type.String())),
    last_activity_at: Type.Optional(about('When the person last used the API. Absent: never.', DateTime)),
    role: Type.Optional(Words(memberRoles)),
    role_name: Type.Optional(about('The name of the role.', Type.String())),
    role_id: Type.Optional(about('The `id` of the role.', Uuid)),
  }),
  'A person in an organization.',
);

const Invitation = Named(
  'Invitation',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    email: about('The invited e-mail address.', Type.String()),
    role: Words(memberRoles),
    invitation_link: about('The link; its token is only in the answer that creates it.', Type.String()),
    invitation_status: Words(invitationStatuses),
    organization_name: Type.Optional(about('The name of the organization.', Type.String())),
    inviter: about('The name of the inviting person or API token.', Type.String()),
    logo_url: Type.Optional(about('The logo of the organization. Absent: none.', Type.String())),
    role_id: Type.Optional(about('The `id` of the role.', Uuid)),
    role_name: Type.Optional(about('The name of the role.', Type.String())),
    expires_at: Type.Optional(about('When it expires: after seven days.', DateTime)),
  }),
  'An invitation of a person to an organization.',
);

export const getOrganizationMembers = operation({
  id: 'getOrganizationMembers',
  method: 'GET',
  path: members,
  tag,
  summary: 'List the members of an organization',
  description: `
    Returns the people of the organization with their roles, oldest member first. Invited people are not among them
    until they accept.
  `,
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
  summary: 'Change the role of a member',
  description: `
    Gives a member another role, which applies to the next request. API tokens that the person got by signing in
    with a program end.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`OWNER_REQUIRED\` (409) | The member is the owner. | Transfer the ownership first. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'MemberRoleUpdateRequest',
    Type.Object({
      user_id: about('The `id` of the member.', Uuid),
      role_id: about('The new role, of the list of available roles.', Uuid),
    }),
    'A new role of a member.',
  ),
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
  summary: 'Remove a member',
  description: `
    Removes the person from the organization; their sessions stop working here at once. The account stays, and may
    belong to other organizations.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`OWNER_REQUIRED\` (409) | The member is the owner. | Transfer the ownership first. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Named('MemberRemovalRequest', Type.Object({ user_id: about('The `id` of the member.', Uuid) }), 'The member to remove.'),
  status: 204,
  response: null,
  errors: [400, 409],
});

export const postOrganizationTransferOwnership = operation({
  id: 'postOrganizationTransferOwnership',
  method: 'POST',
  path: '/organization/{organizationId}/transferOwnership',
  tag,
  summary: 'Transfer the ownership of an organization',
  description: `
    Makes another member the owner; the former owner becomes an Admin. Only the owner can take this back, by another
    transfer.
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'TransferOwnershipRequest',
    Type.Object({ user_id: about('The `id` of the member who becomes the owner.', Uuid) }),
    'The new owner of the organization.',
  ),
  status: 204,
  response: null,
  errors: [400],
});

export const getOrganizationInvitedMembers = operation({
  id: 'getOrganizationInvitedMembers',
  method: 'GET',
  path: invitations,
  tag,
  summary: 'List the invitations of an organization',
  description: `
    Returns the invitations that nobody has accepted, expired ones included. Their links have no token: that is only
    in the answer that creates one.
  `,
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
  summary: 'Invite a person',
  description: `
    Creates an invitation that is valid for seven days. Send \`invitation_link\` of the answer to the person: who has
    the link can accept it. With a mail server, Davit mails it, too. Somebody who signs in with this verified address can accept
    without the link.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`ALREADY_MEMBER\` (409) | The person is a member. | Nothing to do. |
    | \`ALREADY_INVITED\` (409) | An invitation of the address is pending. | Delete that one first. |
  `,
  showsCredentials: true,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'InvitationRequest',
    Type.Object({
      email: about('The e-mail address to invite.', Type.String({ format: 'email', maxLength: 320 })),
      role: Type.Optional(about('The older name of the role; `role_id` is preferred.', Words(memberRoles))),
      role_id: Type.Optional(about('The role, of the list of available roles; by default Viewer.', Uuid)),
    }),
    'Whom to invite, with which role.',
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
  summary: 'Read an invitation',
  description: `
    Returns an invitation, to members of the organization and to the invited person. The link in the answer has no
    token in it.
  `,
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
  summary: 'Accept an invitation',
  description: `
    Makes you a member. The invitation must be to the e-mail address that your issuer has verified; with a link, use
    the operations of links instead.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`INVITATION_EXPIRED\` (409) | Its seven days are over. | Ask for a new one. |
    | \`ALREADY_MEMBER\` (409) | You are a member. | Nothing to do. |
  `,
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
  description: `
    Deletes an invitation that nobody has accepted. Its link stops working at once. A person who has accepted is
    removed as a member.
  `,
  scope: 'ADMIN',
  target: 'organization',
  status: 204,
  response: null,
  errors: [],
});
