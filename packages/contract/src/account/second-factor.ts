import Type from 'typebox';
import { operation } from '../operation.ts';
import { Named, Nullable } from '../shape.ts';

const tag = 'Sign-in';
const Password = Type.String({ maxLength: 1000 });
const Code = Type.String({ minLength: 1, maxLength: 100 });

export const getAccountSecurity = operation({
  id: 'getAccountSecurity',
  method: 'GET',
  path: '/account/security',
  tag,
  summary: 'Read how you sign in: with which e-mail address, and whether a second factor is needed',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 200,
  response: Named(
    'AccountSecurity',
    Type.Object({
      email: Nullable(Type.String()),
      has_password: Type.Boolean(),
      has_second_factor: Type.Boolean(),
      recovery_codes: Type.Integer(),
    }),
  ),
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
