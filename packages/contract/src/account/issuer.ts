import Type from 'typebox';
import { operation } from '../operation.ts';
import { about } from '../shape.ts';
import { SignedIn } from './sign-in.ts';

const tag = 'Sign-in';

export const createIssuerSignIn = operation({
  id: 'createIssuerSignIn',
  method: 'POST',
  path: '/signIn/issuer',
  tag,
  summary: 'Begin to sign in through an issuer',
  description: `
    Returns the URL of the issuer's sign-in page (OpenID Connect, authorization code flow with PKCE). The issuer leads the
    browser back to \`/console/issuer\`, which must be registered there as the redirect URI.

    Only the browser with the cookie of the response can finish the sign-in, once and within ten minutes.

        | Code | Cause | Remedy |
    |---|---|---|
    | \`ISSUER_UNAVAILABLE\` (503) | The issuer does not answer, or refuses Davit as a client. | The message says what the operator should check. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Type.Object({
    issuer: about('The issuer: one of `browser_issuers` of the sign-in options.', Type.String({ maxLength: 2000 })),
  }),
  status: 201,
  response: Type.Object({
    url: about('The address of the issuer’s sign-in page for this one sign-in.', Type.String()),
  }),
  errors: [],
});

export const completeIssuerSignIn = operation({
  id: 'completeIssuerSignIn',
  method: 'POST',
  path: '/signIn/issuer/complete',
  tag,
  summary: 'Finish the sign-in through an issuer',
  description: `
    Signs in the person whom the issuer names. The page \`/console/issuer\` sends this, in the browser that began the
    sign-in. A person is recognized by issuer and subject (\`sub\`), never by the e-mail address. A new person belongs to no
    organization.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`SIGN_IN_EXPIRED\` (400) | Another browser began, it was used before, or it is older than ten minutes. | Begin again. |
    | \`SIGN_IN_REFUSED\` (401) | The issuer refused, or its answer belongs to another sign-in. | Begin again; the message has its error. |
    | \`ISSUER_UNAVAILABLE\` (503) | The issuer does not answer, or refuses Davit as a client. | The message says what the operator should check. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Type.Object({
    response: about(
      'The query with which the issuer led the browser back, as in `code=…&state=…`: everything behind the question mark.',
      Type.String({ maxLength: 16_000 }),
    ),
  }),
  status: 201,
  response: SignedIn,
  errors: [400],
});
