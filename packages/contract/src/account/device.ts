import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Name, Named, Nullable, Uuid, Words } from '../shape.ts';

const tag = 'Sign-in';
/** Scopes below that of all rights of the person. */
const deviceScopes = ['READ', 'DEPLOY', 'WRITE'] as const;
const UserCode = Type.String({ minLength: 1, maxLength: 20 });

export const createDeviceSignIn = operation({
  id: 'createDeviceSignIn',
  method: 'POST',
  path: '/deviceSignIn',
  tag,
  summary: 'Begin the sign-in of a program (RFC 8628): a person confirms its user code, and the program gets a token',
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  showsCredentials: true,
  body: Named('DeviceSignInRequest', Type.Object({ name: Name, scope: Type.Optional(Nullable(Words(deviceScopes))) })),
  status: 201,
  response: Named(
    'DeviceSignIn',
    Type.Object({
      device_code: Type.String(),
      user_code: Type.String(),
      verification_uri: Type.String(),
      verification_uri_complete: Type.String(),
      expires_in: Type.Integer(),
      interval: Type.Integer(),
    }),
  ),
  errors: [],
});

export const getDeviceToken = operation({
  id: 'getDeviceToken',
  method: 'POST',
  path: '/deviceSignIn/token',
  tag,
  summary: 'Get the token of a program once its user code is confirmed; repeat every `interval` seconds until then',
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  showsCredentials: true,
  body: Named('DeviceTokenRequest', Type.Object({ device_code: Type.String({ maxLength: 200 }) })),
  status: 200,
  response: Named(
    'DeviceToken',
    Type.Object({
      access_token: Type.String(),
      token_type: Type.String(),
      token_id: Uuid,
      name: Type.String(),
      organization_id: Uuid,
      expires_at: DateTime,
    }),
  ),
  errors: [400],
});

export const revokeDeviceToken = operation({
  id: 'revokeDeviceToken',
  method: 'POST',
  path: '/deviceSignIn/revoke',
  tag,
  summary: 'Revoke the token of a program: sign it out',
  description: `Deletes a token that \`getDeviceToken\` returned; it stops working at once. Whoever has the token may do so.

    A token that is unknown, was revoked or has expired changes nothing and returns 204 as well, so that a repetition is
    safe. So does a token that was created in another way: other programs may use it too, and \`deleteOrganizationApiToken\`
    deletes it.`,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  event: 'DELETE',
  body: Named(
    'DeviceTokenRevocation',
    Type.Object({ access_token: about('The token, as `getDeviceToken` returned it.', Type.String({ maxLength: 200 })) }),
  ),
  status: 204,
  response: null,
  errors: [400],
});

export const readDeviceSignIn = operation({
  id: 'readDeviceSignIn',
  method: 'POST',
  path: '/deviceSignIn/read',
  tag,
  summary: 'Read which program shows a user code, before it is confirmed',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Type.Object({ user_code: UserCode }),
  status: 200,
  response: Named(
    'DeviceSignInProgram',
    Type.Object({
      name: Type.String(),
      scope: Nullable(Words(deviceScopes)),
      address: Type.String(),
      created_at: DateTime,
      expires_at: DateTime,
    }),
  ),
  errors: [409],
});

export const confirmDeviceSignIn = operation({
  id: 'confirmDeviceSignIn',
  method: 'POST',
  path: '/deviceSignIn/confirm',
  tag,
  summary: 'Give the program that shows a user code a token for one of your organizations, with your rights or fewer',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Named(
    'DeviceSignInConfirmation',
    Type.Object({
      user_code: UserCode,
      organization_id: Uuid,
      scope: Type.Optional(Nullable(Words(deviceScopes))),
      expires_in_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 365, default: 90 })),
    }),
  ),
  status: 204,
  response: null,
  errors: [400, 409],
});

export const denyDeviceSignIn = operation({
  id: 'denyDeviceSignIn',
  method: 'POST',
  path: '/deviceSignIn/deny',
  tag,
  summary: 'Refuse the program that shows a user code',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Type.Object({ user_code: UserCode }),
  status: 204,
  response: null,
  errors: [409],
});
