import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Named, Uuid } from '../shape.ts';

const tag = 'Account';

const Account = Named(
  'Account',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    nickname: Type.Optional(about('The short name, or else the full name. Absent: none.', Type.String())),
    first_name: Type.Optional(about('The first name, from the issuer. Absent: none.', Type.String())),
    last_name: Type.Optional(about('The last name, from the issuer. Absent: none.', Type.String())),
    profile_picture_url: Type.Optional(about('The picture, from the issuer. Absent: none.', Type.String())),
    communication_email: Type.Optional(
      about('The address for messages; by default that of the account. Absent: none.', Type.String()),
    ),
  }),
  'The account of a person.',
);

export const getAccountInformation = operation({
  id: 'getAccountInformation',
  method: 'GET',
  path: '/account',
  tag,
  summary: 'Read your account',
  description: `
    Returns your own account: names and picture, as the issuer has them, and the address for messages. API tokens have no
    account: 403.
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 200,
  response: Account,
  errors: [],
});

export const editAccountInformation = operation({
  id: 'editAccountInformation',
  method: 'PUT',
  path: '/account',
  record: null,
  tag,
  summary: 'Edit your account',
  description: `
    Changes the address for messages. The address that you sign in with does not change, and names and pictures come from
    the issuer.
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Named(
    'AccountEditRequest',
    Type.Object({
      communication_email: Type.Optional(
        about('The address for messages. Without it, it stays.', Type.String({ format: 'email', maxLength: 320 })),
      ),
    }),
    'The fields of your account to change.',
  ),
  status: 200,
  response: Account,
  errors: [400],
});

export const createSession = operation({
  id: 'createSession',
  method: 'POST',
  path: '/session',
  tag,
  summary: 'Create a session from an id token',
  description: `
    Exchanges an id token of an issuer, sent as \`Authorization: Bearer\`, for the token of a session of one hour. The session
    works without the issuer until it ends.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`FORBIDDEN\` (403) | You sent the token of a session. | Send an id token. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 201,
  response: Named(
    'Session',
    Type.Object({
      token: about('The token, for `Authorization: Bearer`.', Type.String()),
      token_type: about('The scheme of the header: `Bearer`.', Type.String()),
      expires_at: about('When the session ends.', DateTime),
    }),
    'A session of one hour.',
  ),
  errors: [],
});

export const deleteSession = operation({
  id: 'deleteSession',
  method: 'DELETE',
  path: '/session',
  record: null,
  tag,
  summary: 'Sign out',
  description: `
    Ends the session of the request at once: its token or cookie is not accepted any more. Your other sessions and your API
    tokens stay as they are.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | You sent an id token. | Sign out at the issuer. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 204,
  response: null,
  errors: [400],
});
