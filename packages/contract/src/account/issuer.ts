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
    Returns the URL of the issuer's sign-in page, to which the page of Davit leads the browser (OpenID Connect, authorization
    code flow with PKCE). The issuer leads it back to \`/console/issuer\` of this server, which must be registered there as
    the redirect URI.

    The response sets a cookie that is valid for ten minutes and used once. Only the browser with this cookie can finish
    the sign-in. Everybody may begin one.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`ISSUER_UNAVAILABLE\` (503) | The issuer does not answer, or refuses Davit as a client. | Try again in some seconds; the message says what the operator should check. |
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
  summary: 'Finish to sign in through an issuer',
  description: `
    Signs the person in whom the issuer names. The response sets the cookie of a new session. The page \`/console/issuer\`
    sends this, in the browser that began.

    A person is known by the issuer and its subject (\`sub\`), never by the e-mail address, as for JWTs that programs send.
    Who signs in for the first time is a member of no organization.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`SIGN_IN_EXPIRED\` (400) | Another browser began, the sign-in was finished already, or it took longer than ten minutes. | Begin again. |
    | \`SIGN_IN_REFUSED\` (401) | The issuer refused, or its answer belongs to another sign-in. | The message has the error of the issuer. Begin again. |
    | \`ISSUER_UNAVAILABLE\` (503) | The issuer does not answer, or refuses Davit as a client. | Try again in some seconds; the message says what the operator should check. |
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
