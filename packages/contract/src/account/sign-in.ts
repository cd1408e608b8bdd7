import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Name, Named, Nullable, Uuid } from '../shape.ts';

const tag = 'Sign-in';

export const Email = Type.String({ format: 'email', maxLength: 320 });
/** A password that a person chooses. */
export const NewPassword = Type.String({ minLength: 10, maxLength: 1000 });
const Password = Type.String({ maxLength: 1000 });
export const LinkToken = Type.String({ minLength: 1, maxLength: 200 });

/** A session that has begun. Its token is in a cookie and not in the response. */
export const SignedIn = Named(
  'SignedIn',
  Type.Object({
    person_id: about('The `id` of the person.', Uuid),
    email: about('The address of the person. null: the issuer states none.', Nullable(Type.String())),
    session_id: about('The `id` of the session.', Uuid),
    expires_at: about('When the session ends.', DateTime),
  }),
  'A session that has begun. Its token is in the cookie that the answer sets.',
);

export const getSignInOptions = operation({
  id: 'getSignInOptions',
  method: 'GET',
  path: '/signIn',
  tag,
  summary: 'Read how people can sign in',
  description: `
    Returns whether passwords and passkeys are accepted, and through which issuers people sign in: what a sign-in page has to
    offer. It says nothing about accounts.
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  status: 200,
  response: Named(
    'SignInOptions',
    Type.Object({
      passwords: about('Whether e-mail address and password are accepted.', Type.Boolean()),
      issuers: about('The issuers whose tokens are accepted.', Type.Array(Type.String())),
      passkeys: about('Whether people sign in with passkeys at this address: not at an IP address.', Type.Boolean()),
      sends_mail: about('Whether links for forgotten passwords, and invitations, are mailed.', Type.Boolean()),
      browser_issuers: about('The issuers through which `createIssuerSignIn` signs people in.', Type.Array(Type.String())),
    }),
    'How people sign in to this installation.',
  ),
  errors: [],
});

export const signIn = operation({
  id: 'signIn',
  method: 'POST',
  path: '/signIn',
  tag,
  summary: 'Sign in',
  description: `
    Starts a session of up to 30 days with e-mail address and password. The response sets its cookie, for browsers; programs
    use API tokens. After five wrong attempts, further ones are refused with 429 for a while.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`FORBIDDEN\` (403) | Passwords are switched off. | Sign in through an issuer. |
    | \`SIGN_IN_REFUSED\` (401) | Address or password is wrong. | Check both, or have it reset. |
    | \`SECOND_FACTOR_REQUIRED\` (401) | \`code\` is missing, wrong or was used. | Send the present code. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Named(
    'SignInRequest',
    Type.Object({
      email: about('The e-mail address of the account.', Type.String({ maxLength: 320 })),
      password: about('The password of the account.', Password),
      code: Type.Optional(about('The present code of the second factor, or a recovery code.', Type.String({ maxLength: 100 }))),
    }),
    'Address and password of a person.',
  ),
  status: 201,
  response: SignedIn,
  errors: [],
});

export const createFirstAccount = operation({
  id: 'createFirstAccount',
  method: 'POST',
  path: '/firstRun',
  tag,
  summary: 'Create the first account',
  description: `
    Creates the account of the person who sets the installation up, with the token of a link that Davit prints at each
    start until then. The account owns the oldest organization if nobody belongs to it, else a new one. The response sets the
    cookie of a session.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`LINK_NOT_VALID\` (409) | A link was used, or this one is older than 24 hours. | Sign in, or restart Davit for a new link. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Named(
    'FirstAccountRequest',
    Type.Object({
      token: about('The token behind `#` of the link that each start prints.', LinkToken),
      email: about('The e-mail address to sign in with.', Email),
      password: about('The password to sign in with, at least 10 characters.', NewPassword),
      name: Type.Optional(about('Your full name; without it, none.', Name)),
      organization_name: Type.Optional(about('The name of the new organization; by default `My organization`.', Name)),
    }),
    'The first account of an installation.',
  ),
  status: 201,
  response: Named(
    'SignedInMember',
    Type.Object({ ...SignedIn.properties, organization_id: about('The organization that you belong to.', Uuid) }),
    'A new session of a new member.',
  ),
  errors: [400, 409],
});
