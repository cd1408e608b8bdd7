import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, Named, Nullable } from '../shape.ts';

const tag = 'Sign-in';
const Password = Type.String({ maxLength: 1000 });
const Code = Type.String({ minLength: 1, maxLength: 100 });

/** How a person signs in. */
export const AccountSecurity = Named(
  'AccountSecurity',
  Type.Object({
    email: about('The e-mail address that you sign in with. null: you sign in through an issuer.', Nullable(Type.String())),
    has_password: about('Whether you sign in with a password. Not through an issuer.', Type.Boolean()),
    has_second_factor: about('Whether sign-in with the password needs a code, too.', Type.Boolean()),
    recovery_codes: about('How many recovery codes are left.', Type.Integer()),
    passkeys: about('How many passkeys sign you in. `GET /account/passkey` lists them.', Type.Integer()),
  }),
  'How a person signs in.',
);

export const getAccountSecurity = operation({
  id: 'getAccountSecurity',
  method: 'GET',
  path: '/account/security',
  tag,
  summary: 'Read how you sign in: with which e-mail address, and what else is needed',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 200,
  response: AccountSecurity,
  errors: [],
});

export const createSecondFactor = operation({
  id: 'createSecondFactor',
  method: 'POST',
  path: '/account/secondFactor',
  tag,
  summary: 'Create the secret of a second factor (TOTP); it is needed at sign-in once it is confirmed',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  showsCredentials: true,
  body: Type.Object({ password: Password }),
  status: 201,
  response: Type.Object({ secret: Type.String(), url: Type.String() }),
  errors: [409],
});

export const confirmSecondFactor = operation({
  id: 'confirmSecondFactor',
  method: 'POST',
  path: '/account/secondFactor/confirm',
  tag,
  summary: 'Confirm the second factor with a code of it; all other sessions end. The recovery codes are shown only now',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  showsCredentials: true,
  body: Type.Object({ code: Code }),
  status: 200,
  response: Type.Object({ recovery_codes: Type.Array(Type.String()) }),
  errors: [409],
});

export const deleteSecondFactor = operation({
  id: 'deleteSecondFactor',
  method: 'DELETE',
  path: '/account/secondFactor',
  record: null,
  tag,
  summary: 'Remove the second factor and its recovery codes',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Type.Object({ password: Password }),
  status: 204,
  response: null,
  errors: [400, 409],
});
