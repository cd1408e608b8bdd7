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
    name: Type.Optional(about('The name of the person, as far as it is known.', Type.String())),
    nickname: Type.Optional(about('The short name of the person. Absent: unknown.', Type.String())),
    email: about('The e-mail address of the person; empty if the issuer states none.', Type.String()),
    profile_picture_url: Type.Optional(about('The picture of the person. Absent: none.', Type.String())),
    last_activity_at: Type.Optional(about('When the person last used the API.', DateTime)),
    role: Type.Optional(about('The older name nearest to the role.', Words(memberRoles))),
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
    invitation_link: about('The link. Only the answer that creates it has the token that accepts it.', Type.String()),
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
    Returns the people of the organization with their roles and their last activity, oldest member first. Invited people are
    not among them until they accept.
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
    Gives a member another role, which applies from the next request on. The tokens of programs that the person signed in
    with a code end, if the role changes; other API tokens stay.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`OWNER_REQUIRED\` (409) | The member is the owner. | Transfer the ownership first. |
    | \`INVALID_REFERENCE\` (400) | The member or the role is not known. | \`errors\` names it. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'MemberRoleUpdateRequest',
    Type.Object({
      user_id: about('The `id` of the member.', Uuid),
      role_id: about('The new role, of the available roles. Not Owner: transfer the ownership.', Uuid),
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
    Removes the person from the organization: they lose all rights in it at once, and the tokens of programs that they
    signed in with a code end. Other API tokens and the account stay.


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
    Makes another member the owner; the former owner becomes an Admin. Only the new owner can transfer the
    ownership again.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`INVALID_REFERENCE\` (400) | The person is no member. | Invite the person first. |
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
    Returns the invitations that nobody has accepted yet, oldest first, expired ones included. Their links have no token: only
    the answer of \`postInviteMember\` has it.
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
    Creates an invitation that is valid for seven days, in the place of an expired one. Send \`invitation_link\` of the
    answer to the person: whoever has the link can accept, once. With a mail server, Davit mails it, too. Somebody who signs
    in with this verified address can accept without the link.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`ALREADY_MEMBER\` (409) | The person is a member. | Nothing to do. |
    | \`ALREADY_INVITED\` (409) | An invitation of the address is pending. | Withdraw that one first. |
  `,
  showsCredentials: true,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'InvitationRequest',
    Type.Object({
      email: about('The e-mail address to invite.', Type.String({ format: 'email', maxLength: 320 })),
      role: Type.Optional(about('The older name of the role; `role_id` wins. Not OWNER.', Words(memberRoles))),
      role_id: Type.Optional(about('The role, of the available roles; by default Viewer. Not Owner.', Uuid)),
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
    Returns an invitation that nobody has accepted yet, to members of the organization and to the invited person. The link
    in the answer has no token.
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
    Makes you a member, with the role of the invitation. The invitation must be for the e-mail address that your issuer has
    verified. With a link, use \`joinByInvitationLink\` instead.


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
    Deletes an invitation that nobody has accepted. Its link stops working at once. A person who has accepted stays a
    member: remove them with \`deleteMember\`.
  `,
  scope: 'ADMIN',
  target: 'organization',
  status: 204,
  response: null,
  errors: [],
});
