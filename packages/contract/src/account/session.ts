import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Named, Nullable, Uuid } from '../shape.ts';
import { AccountSecurity } from './second-factor.ts';
import { NewPassword } from './sign-in.ts';

const tag = 'Sign-in';

const Session = Named(
  'AccountSession',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    last_used_at: DateTime,
    expires_at: DateTime,
    user_agent: Nullable(Type.String()),
    address: Nullable(Type.String()),
    is_current: Type.Boolean(),
  }),
);

export const listSessions = operation({
  id: 'listSessions',
  method: 'GET',
  path: '/account/session',
  tag,
  summary: 'List your sessions, the last used first',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 200,
  response: List(Session),
  errors: [],
});

export const endSession = operation({
  id: 'endSession',
  method: 'DELETE',
  path: '/account/session/{sessionId}',
  record: null,
  tag,
  summary: 'End one of your sessions; it stops working at once',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 204,
  response: null,
  errors: [],
});

export const endOtherSessions = operation({
  id: 'endOtherSessions',
  method: 'DELETE',
  path: '/account/session',
  record: null,
  tag,
  summary: 'End all of your sessions except the one of the request',
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 204,
  response: null,
  errors: [],
});

export const changePassword = operation({
  id: 'changePassword',
  method: 'PUT',
  path: '/account/password',
  record: null,
  tag,
  summary: 'Change your password; all other sessions end',
  description: `
    Sets a new password, ends all other sessions, and deletes links to set the password. Your second factor and your
    passkeys stay: the response says what there is. Remove passkeys that you do not know.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | The present password is wrong, or the new one is too short. | \`errors\` names the field. |
    | \`NO_PASSWORD\` (409) | You sign in through an issuer. | Change the password at the issuer. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Named('PasswordChange', Type.Object({ current_password: Type.String({ maxLength: 1000 }), new_password: NewPassword })),
  status: 200,
  response: AccountSecurity,
  errors: [400, 409],
});
