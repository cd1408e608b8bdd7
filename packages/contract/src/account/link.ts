import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Name, Named, Uuid } from '../shape.ts';
import { LinkToken, NewPassword, SignedIn } from './sign-in.ts';

const tag = 'Sign-in';
const OfLink = Type.Object({ token: about('The token behind `#` of the link.', LinkToken) });

export const readInvitationLink = operation({
  id: 'readInvitationLink',
  method: 'POST',
  path: '/invitation/read',
  tag,
  summary: 'Read the invitation of a link',
  description: `
    Returns who invites whom to which organization, and with which role, by the token of a link. The link stays valid.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`LINK_NOT_VALID\` (409) | The link is unknown, used or expired. | Ask for a new invitation. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: OfLink,
  status: 200,
  response: Named(
    'InvitationLink',
    Type.Object({
      email: about('The invited e-mail address.', Type.String()),
      organization_id: about('The organization that invites.', Uuid),
      organization_name: about('The name of the organization.', Type.String()),
      inviter: about('The name of the inviting person or API token.', Type.String()),
      role_name: about('The role that you will have.', Type.String()),
      expires_at: about('When the link expires.', DateTime),
    }),
    'The invitation that a link is for.',
  ),
  errors: [409],
});

export const acceptInvitationLink = operation({
  id: 'acceptInvitationLink',
  method: 'POST',
  path: '/invitation/accept',
  event: 'ACCEPT',
  tag,
  summary: 'Accept an invitation with a new account',
  description: `
    Creates an account with a password for the invited address, makes the person a member with the role of the invitation,
    and signs in: the response sets the cookie of a session. The link cannot be used again.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`FORBIDDEN\` (403) | Passwords are switched off. | Sign in through an issuer. |
    | \`LINK_NOT_VALID\` (409) | The link is unknown, used or expired. | Ask for a new invitation. |
    | \`EMAIL_TAKEN\` (409) | The address has an account. | Sign in, then send \`joinByInvitationLink\`. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Named(
    'InvitationAcceptance',
    Type.Object({
      token: about('The token behind `#` of the link.', LinkToken),
      password: about('The password to sign in with, at least 10 characters.', NewPassword),
      name: Type.Optional(about('Your full name; without it, none.', Name)),
    }),
    'A new account for an invited person.',
  ),
  status: 201,
  response: Named(
    'SignedInMember',
    Type.Object({ ...SignedIn.properties, organization_id: about('The organization that you belong to.', Uuid) }),
    'A new session of a new member.',
  ),
  errors: [409],
});

export const joinByInvitationLink = operation({
  id: 'joinByInvitationLink',
  method: 'POST',
  path: '/invitation/join',
  event: 'ACCEPT',
  tag,
  summary: 'Accept an invitation with your account',
  description: `
    Makes you a member by the token of a link, with the role of the invitation. It need not be for your e-mail address:
    whoever has the link can use it, once.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`LINK_NOT_VALID\` (409) | The link is unknown, used or expired. | Ask for a new invitation. |
    | \`ALREADY_MEMBER\` (409) | You are a member. | Nothing to do. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: OfLink,
  status: 201,
  response: Type.Object({ organization_id: about('The organization that you belong to.', Uuid) }),
  errors: [409],
});

export const createPasswordLink = operation({
  id: 'createPasswordLink',
  method: 'POST',
  path: '/organization/{organizationId}/member/{userId}/passwordLink',
  tag,
  summary: 'Create a link for a new password',
  description: `
    Returns a link with which the member sets a new password, once and within 24 hours. Whoever has the link can take the
    account over.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`FORBIDDEN\` (403) | The member belongs to other organizations too, or is the owner. | Ask the operator. |
    | \`NO_PASSWORD\` (409) | The member signs in through an issuer. | Reset it at the issuer. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  showsCredentials: true,
  status: 201,
  response: Type.Object({ link: about('The link; it works once, for 24 hours.', Type.String()) }),
  errors: [409],
});

export const requestPasswordReset = operation({
  id: 'requestPasswordReset',
  method: 'POST',
  path: '/passwordReset/request',
  tag,
  summary: 'Ask for a mail to set a new password',
  description: `
    Mails a link to set a new password, if the address has an account. The link works once, for two hours. The answer is the
    same, after the same time, if there is none. An address gets at most three mails in an hour.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`FORBIDDEN\` (403) | The installation sends no mail, or passwords are switched off. | Ask an administrator for a link. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Type.Object({ email: about('The e-mail address of the account.', Type.String({ minLength: 1, maxLength: 320 })) }),
  status: 204,
  response: null,
  errors: [],
});

export const resetPassword = operation({
  id: 'resetPassword',
  method: 'POST',
  path: '/passwordReset',
  tag,
  summary: 'Set a new password by a link',
  description: `
    Sets a new password and ends whatever a thief of the old one may have made: all sessions, **all passkeys**, the other
    links to set a password, and the tokens of programs that signed in with a code. The second factor stays; only its owner
    or the operator removes it.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`FORBIDDEN\` (403) | Passwords are switched off. | Sign in through an issuer. |
    | \`LINK_NOT_VALID\` (409) | The link was used, has expired, or the password was set since. | Ask for a new one. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Named(
    'PasswordReset',
    Type.Object({
      token: about('The token behind `#` of the link.', LinkToken),
      password: about('The new password, at least 10 characters.', NewPassword),
    }),
    'A new password, by a link.',
  ),
  status: 200,
  response: Type.Object({
    removed_passkeys: about('How many passkeys were removed. Add yours again.', Type.Integer()),
    has_second_factor: about('Whether the next sign-in needs a code of the second factor, too.', Type.Boolean()),
  }),
  errors: [409],
});
