import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Named, Nullable, Uuid } from '../shape.ts';
import { AccountSecurity } from './second-factor.ts';
import { NewPassword } from './sign-in.ts';

const tag = 'Sign-in';

const Session = Named(
  'AccountSession',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When the person signed in.', DateTime),
    last_used_at: about('When it was last used.', DateTime),
    expires_at: about('When it ends at the latest.', DateTime),
    user_agent: about('The program that signed in; null: unknown.', Nullable(Type.String())),
    address: about('The IP address that signed in; null: unknown.', Nullable(Type.String())),
    is_current: about('Whether it is the session of this request.', Type.Boolean()),
  }),
  'A session of a person.',
);

export const listSessions = operation({
  id: 'listSessions',
  method: 'GET',
  path: '/account/session',
  tag,
  summary: 'List your sessions',
  description: `
    Returns where you are signed in, the last used session first. The session of a browser ends after 30 days, or after 7
    days without use.
  `,
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
  summary: 'End one of your sessions',
  description: `
    Ends the session at once: its cookie is not accepted any more. If it is the session of this request, you are
    signed out.
  `,
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
  summary: 'End all of your other sessions',
  description: `
    Ends all of your sessions except that of the request, at once: for example after you lost a device. API tokens are not
    affected.
  `,
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
  summary: 'Change your password',
  description: `
    Sets a new password, ends all other sessions, and deletes links to set the password. Second factor, passkeys and API
    tokens stay; the response says what there is. Remove passkeys that you do not know.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | The password is wrong, or the new one is too short. | \`errors\` names the field. |
    | \`NO_PASSWORD\` (409) | You sign in through an issuer. | Change the password at the issuer. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Named(
    'PasswordChange',
    Type.Object({
      current_password: about('Your present password.', Type.String({ maxLength: 1000 })),
      new_password: about('The new one, at least 10 characters.', NewPassword),
    }),
    'A new password for your account.',
  ),
  status: 200,
  response: AccountSecurity,
  errors: [400, 409],
});
