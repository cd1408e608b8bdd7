import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Named, Uuid } from '../shape.ts';

const tag = 'Account';

const Account = Named(
  'Account',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    nickname: Type.Optional(about('The short name, from the issuer. Absent: none.', Type.String())),
    first_name: Type.Optional(about('The first name, from the issuer. Absent: none.', Type.String())),
    last_name: Type.Optional(about('The last name, from the issuer. Absent: none.', Type.String())),
    profile_picture_url: Type.Optional(about('The picture, from the issuer. Absent: none.', Type.String())),
    communication_email: Type.Optional(about('The address for messages. Absent: none.', Type.String())),
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
    Returns your own account: name and picture as the issuer has them, and the address for messages. API tokens have
    no account: 403.
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
    Changes the address for messages. Everything else comes from the issuer, and is brought up to date each time you
    sign in.
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
    Exchanges an id token of an issuer, sent as \`Authorization: Bearer\`, for a session of one hour. The session
    works without the issuer until it ends.
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
    Ends the session of the request at once: its token or cookie is not accepted any more. Your other sessions stay
    as they are.
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 204,
  response: null,
  errors: [400],
});
