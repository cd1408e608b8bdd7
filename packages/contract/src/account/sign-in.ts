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
    person_id: Uuid,
    email: about('The address of the person. null: the issuer states none.', Nullable(Type.String())),
    session_id: Uuid,
    expires_at: DateTime,
  }),
);

export const getSignInOptions = operation({
  id: 'getSignInOptions',
  method: 'GET',
  path: '/signIn',
  tag,
  summary: 'Read how people can sign in to this installation',
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  status: 200,
  response: Named(
    'SignInOptions',
    Type.Object({
      passwords: Type.Boolean(),
      issuers: Type.Array(Type.String()),
      passkeys: about('Whether people sign in with passkeys at this address: not at an IP address.', Type.Boolean()),
      sends_mail: about('Whether links for forgotten passwords, and invitations, are mailed.', Type.Boolean()),
      browser_issuers: about('Those of the issuers through which people sign in in a browser.', Type.Array(Type.String())),
    }),
  ),
  errors: [],
});

export const signIn = operation({
  id: 'signIn',
  method: 'POST',
  path: '/signIn',
  tag,
  summary: 'Sign in with e-mail address and password; the response sets the cookie of a new session',
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Named(
    'SignInRequest',
    Type.Object({
      email: Type.String({ maxLength: 320 }),
      password: Password,
      code: Type.Optional(Type.String({ maxLength: 100 })),
    }),
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
  summary: 'Create the first account, with the token of the link that the first start prints, and sign in',
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Named(
    'FirstAccountRequest',
    Type.Object({
      token: LinkToken,
      email: Email,
      password: NewPassword,
      name: Type.Optional(Name),
      organization_name: Type.Optional(Name),
    }),
  ),
  status: 201,
  response: Named('SignedInMember', Type.Object({ ...SignedIn.properties, organization_id: Uuid })),
  errors: [400, 409],
});
