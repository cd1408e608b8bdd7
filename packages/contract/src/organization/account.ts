import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, Uuid, Named } from '../shape.ts';

const tag = 'Account';

const Account = Named(
  'Account',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    nickname: Type.Optional(Type.String()),
    first_name: Type.Optional(Type.String()),
    last_name: Type.Optional(Type.String()),
    profile_picture_url: Type.Optional(Type.String()),
    communication_email: Type.Optional(Type.String()),
  }),
);

export const getAccountInformation = operation({
  id: 'getAccountInformation',
  method: 'GET',
  path: '/account',
  tag,
  summary: 'Read your own account',
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
  summary: 'Edit your own account; everything except the address for messages comes from the issuer',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Named(
    'AccountEditRequest',
    Type.Object({ communication_email: Type.Optional(Type.String({ format: 'email', maxLength: 320 })) }),
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
  summary: 'Exchange an id token of an issuer, sent as `Authorization: Bearer`, for a session of one hour',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 201,
  response: Named('Session', Type.Object({ token: Type.String(), token_type: Type.String(), expires_at: DateTime })),
  errors: [],
});

export const deleteSession = operation({
  id: 'deleteSession',
  method: 'DELETE',
  path: '/session',
  record: null,
  tag,
  summary: 'Log out: the session of the request stops working at once',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 204,
  response: null,
  errors: [400],
});
