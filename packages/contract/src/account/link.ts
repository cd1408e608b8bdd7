import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Name, Named, Uuid } from '../shape.ts';
import { LinkToken, NewPassword, SignedIn } from './sign-in.ts';

const tag = 'Sign-in';
const OfLink = Type.Object({ token: LinkToken });

export const readInvitationLink = operation({
  id: 'readInvitationLink',
  method: 'POST',
  path: '/invitation/read',
  tag,
  summary: 'Read the invitation of a link, by the token of the link',
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: OfLink,
  status: 200,
  response: Named(
    'InvitationLink',
    Type.Object({
      email: Type.String(),
      organization_id: Uuid,
      organization_name: Type.String(),
      inviter: Type.String(),
      role_name: Type.String(),
      expires_at: DateTime,
    }),
  ),
  errors: [409],
});

export const acceptInvitationLink = operation({
  id: 'acceptInvitationLink',
  method: 'POST',
  path: '/invitation/accept',
  event: 'ACCEPT',
  tag,
  summary: 'Accept the invitation of a link with a new account for its e-mail address, and sign in',
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Named('InvitationAcceptance', Type.Object({ token: LinkToken, password: NewPassword, name: Type.Optional(Name) })),
  status: 201,
  response: Named('SignedInMember', Type.Object({ ...SignedIn.properties, organization_id: Uuid })),
  errors: [409],
});

export const joinByInvitationLink = operation({
  id: 'joinByInvitationLink',
  method: 'POST',
  path: '/invitation/join',
  event: 'ACCEPT',
  tag,
  summary: 'Accept the invitation of a link as the person who is signed in, whatever its e-mail address',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: OfLink,
  status: 201,
  response: Type.Object({ organization_id: Uuid }),
  errors: [409],
});

export const createPasswordLink = operation({
  id: 'createPasswordLink',
  method: 'POST',
  path: '/organization/{organizationId}/member/{userId}/passwordLink',
  tag,
  summary: 'Create a link with which a member of this organization only sets a new password',
  scope: 'ADMIN',
  target: 'organization',
  showsCredentials: true,
  status: 201,
  response: Type.Object({ link: Type.String() }),
  errors: [409],
});

export const requestPasswordReset = operation({
  id: 'requestPasswordReset',
  method: 'POST',
  path: '/passwordReset/request',
  tag,
  summary: 'Ask for a mail to set a new password',
  description: `
    Mails a link to set a new password, if there is an account with this address. The answer is the same, after the same
    time, if there is none. The link works once, for two hours. Everybody may ask; an address gets at most three mails in
    an hour.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`FORBIDDEN\` (403) | The installation sends no mail, or passwords are switched off. | Ask an administrator of your organization for a link, or the operator. |
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
  summary: 'Set a new password with the token of a link; all sessions of the person end',
  description: `
    Sets a new password, ends all sessions of the person, deletes the other links to set it, and **removes all passkeys**:
    whoever knew the lost password may have added one. The second factor stays; only its owner or the operator removes it.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`LINK_NOT_VALID\` (409) | The link was used, has expired, or the password was set since. | Ask for a new one. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Named('PasswordReset', Type.Object({ token: LinkToken, password: NewPassword })),
  status: 200,
  response: Type.Object({
    removed_passkeys: about('How many passkeys were removed. Add yours again.', Type.Integer()),
    has_second_factor: about('Whether the next sign-in needs a code of the second factor, too.', Type.Boolean()),
  }),
  errors: [409],
});
