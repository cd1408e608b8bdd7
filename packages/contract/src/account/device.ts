import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, enumeration, Name, Named, Nullable, Uuid, Words } from '../shape.ts';

const tag = 'Sign-in';
/** Scopes below that of all rights of the person. */
const deviceScopes = enumeration(
  'DeviceScope',
  {
    READ: 'Read everything except credentials.',
    DEPLOY: 'Also deploy, restart, stop and cancel.',
    WRITE: 'Also create, edit and delete.',
  },
  'What the token of a program may do.',
);
const UserCode = Type.String({ minLength: 1, maxLength: 20 });

export const createDeviceSignIn = operation({
  id: 'createDeviceSignIn',
  method: 'POST',
  path: '/deviceSignIn',
  tag,
  summary: 'Begin the sign-in of a program',
  description: `
    Returns a code for the program and one for the person (RFC 8628), valid for 15 minutes. Show the person \`user_code\`
    and the page at which to enter it, and ask for the token meanwhile.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`OVERLOADED\` (503) | Too many programs wait. | Try again in some minutes. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  showsCredentials: true,
  body: Named(
    'DeviceSignInRequest',
    Type.Object({
      name: about('The name of the program, which the person sees.', Name),
      scope: Type.Optional(about('What it asks for; left out or null: all rights of the person.', Nullable(Words(deviceScopes)))),
    }),
    'A program that wants to sign in.',
  ),
  status: 201,
  response: Named(
    'DeviceSignIn',
    Type.Object({
      device_code: about('Gets the token; keep it secret.', Type.String()),
      user_code: about('The code that the person compares or enters.', Type.String()),
      verification_uri: about('The page at which it is entered.', Type.String()),
      verification_uri_complete: about('That page with the code filled in.', Type.String()),
      expires_in: about('Seconds until both codes expire.', Type.Integer()),
      interval: about('Seconds to wait between two requests for the token.', Type.Integer()),
    }),
    'The codes of a sign-in of a program.',
  ),
  errors: [],
});

export const getDeviceToken = operation({
  id: 'getDeviceToken',
  method: 'POST',
  path: '/deviceSignIn/token',
  tag,
  summary: 'Get the token of a program',
  description: `
    Returns the token, once, after a person has confirmed the user code. Repeat the request every \`interval\` seconds until
    then.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`AUTHORIZATION_PENDING\` (400) | Nobody has confirmed the code yet. | Ask again after \`interval\` seconds. |
    | \`SLOW_DOWN\` (400) | You ask too often. | Add 5 seconds to the pause. |
    | \`ACCESS_DENIED\` (400) | The person refused, or lost the right since. | Begin again if that was a mistake. |
    | \`DEVICE_CODE_EXPIRED\` (400) | The code has expired, is unknown or was used. | Begin again. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  showsCredentials: true,
  body: Named(
    'DeviceTokenRequest',
    Type.Object({ device_code: about('The `device_code` of the sign-in.', Type.String({ maxLength: 200 })) }),
    'The sign-in whose token to get.',
  ),
  status: 200,
  response: Named(
    'DeviceToken',
    Type.Object({
      access_token: about('The token, for `Authorization: Bearer`. It is shown once.', Type.String()),
      token_type: about('The scheme of the header: `Bearer`.', Type.String()),
      token_id: about('The `id` of the API token.', Uuid),
      name: about('The name of the API token.', Type.String()),
      organization_id: about('The organization that it is for.', Uuid),
      expires_at: about('When it stops working.', DateTime),
    }),
    'The token of a program.',
  ),
  errors: [400],
});

export const revokeDeviceToken = operation({
  id: 'revokeDeviceToken',
  method: 'POST',
  path: '/deviceSignIn/revoke',
  tag,
  summary: 'Revoke the token of a program: sign it out',
  description: `Deletes a token that \`getDeviceToken\` returned; it stops working at once. Having the token is enough.

    A token that is unknown, was revoked or has expired changes nothing and returns 204 as well, so that a repetition is
    safe. Other API tokens stay: \`deleteOrganizationApiToken\` deletes them.`,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  event: 'DELETE',
  body: Named(
    'DeviceTokenRevocation',
    Type.Object({ access_token: about('The token, as `getDeviceToken` returned it.', Type.String({ maxLength: 200 })) }),
    'The token that a program gives up.',
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
  summary: 'Read which program wants to sign in',
  description: `
    Returns name and address of the program that shows a user code, and the rights that it asks for, so that the person can
    compare them before confirming.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`LINK_NOT_VALID\` (409) | The code is unknown, used or expired. | Begin again in the program. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Type.Object({ user_code: about('The code that the program shows.', UserCode) }),
  status: 200,
  response: Named(
    'DeviceSignInProgram',
    Type.Object({
      name: about('The name that it gave itself.', Type.String()),
      scope: about('What it asks for; null: all your rights.', Nullable(Words(deviceScopes))),
      address: about('The IP address of the program.', Type.String()),
      created_at: about('When it asked for the code.', DateTime),
      expires_at: about('When the code expires.', DateTime),
    }),
    'The program that shows a user code.',
  ),
  errors: [409],
});

export const confirmDeviceSignIn = operation({
  id: 'confirmDeviceSignIn',
  method: 'POST',
  path: '/deviceSignIn/confirm',
  tag,
  summary: 'Confirm the sign-in of a program',
  description: `
    Gives the program that shows the code an API token for one of your organizations, with your rights or fewer. The
    token ends when you leave the organization or get another role.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`FORBIDDEN\` (403) | The scope has more rights than your role. | Leave \`scope\` out, or choose READ. |
    | \`LINK_NOT_VALID\` (409) | The code is unknown, used or expired. | Begin again in the program. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Named(
    'DeviceSignInConfirmation',
    Type.Object({
      user_code: about('The code that the program shows.', UserCode),
      organization_id: about('The organization that the token is for.', Uuid),
      scope: Type.Optional(about('What it may do; left out or null: all that your role may.', Nullable(Words(deviceScopes)))),
      expires_in_days: Type.Optional(
        about('After how many days it stops working.', Type.Integer({ minimum: 1, maximum: 365, default: 90 })),
      ),
    }),
    'Which program gets which rights.',
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
  summary: 'Refuse the sign-in of a program',
  description: `
    Ends the sign-in of the program that shows the code: the program gets ACCESS_DENIED instead of a token. A refused code
    cannot be confirmed later.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`LINK_NOT_VALID\` (409) | The code is unknown, used or expired. | Nothing to do. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Type.Object({ user_code: about('The code that the program shows.', UserCode) }),
  status: 204,
  response: null,
  errors: [409],
});
