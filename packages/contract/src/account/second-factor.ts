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
  summary: 'Read how you sign in',
  description: `
    Returns the e-mail address that you sign in with, whether you have a password and a second factor here, and how many
    recovery codes and passkeys there are.
  `,
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
  summary: 'Create a second factor',
  description: `
    Creates the secret of a second factor (TOTP). It has no effect until you confirm it with a code, and replaces an
    unconfirmed one.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | The password is wrong. | Send your present password. |
    | \`NO_PASSWORD\` (409) | You sign in through an issuer. | Use the second factor of the issuer. |
    | \`ALREADY_EXISTS\` (409) | You have a second factor. | Remove it first. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  showsCredentials: true,
  body: Type.Object({ password: about('Your present password.', Password) }),
  status: 201,
  response: Type.Object({
    secret: about('The secret, to enter by hand.', Type.String()),
    url: about('The secret as a URL, for a QR code.', Type.String()),
  }),
  errors: [409],
});

export const confirmSecondFactor = operation({
  id: 'confirmSecondFactor',
  method: 'POST',
  path: '/account/secondFactor/confirm',
  tag,
  summary: 'Confirm the second factor',
  description: `
    Switches the second factor on with a code of it. All other sessions end. The answer has ten recovery codes, which are
    shown only now.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | The code is wrong. | Send the present code. |
    | \`NOTHING_TO_CONFIRM\` (409) | No second factor waits for a code. | Create one first. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  showsCredentials: true,
  body: Type.Object({ code: about('The present code of the second factor.', Code) }),
  status: 200,
  response: Type.Object({ recovery_codes: about('Ten codes, each of which works once.', Type.Array(Type.String())) }),
  errors: [409],
});

export const deleteSecondFactor = operation({
  id: 'deleteSecondFactor',
  method: 'DELETE',
  path: '/account/secondFactor',
  record: null,
  tag,
  summary: 'Remove the second factor',
  description: `
    Removes the second factor and its recovery codes: from then on your password is enough to sign in. Your sessions stay.
    

    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | The password is wrong. | Send your present password. |
    | \`NO_PASSWORD\` (409) | You sign in through an issuer. | Use the second factor of the issuer. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Type.Object({ password: about('Your present password.', Password) }),
  status: 204,
  response: null,
  errors: [400, 409],
});
