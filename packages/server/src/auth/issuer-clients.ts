import { AppError, isAppError } from '@davit/base';
import type { JWTPayload } from 'jose';
import * as openid from 'openid-client';
import type { OidcClient } from '../configuration.ts';
import type { IssuedClaims, Issuers } from './issuers.ts';
import { isTrustworthyAddress } from './key-set.ts';
import { expired } from './sign-in-states.ts';

const scope = 'openid email profile';
const answerSeconds = 5;
/** Milliseconds for which the discovery document of an issuer is used. */
const freshMilliseconds = 10 * 60_000;

/** Data that the browser keeps, sealed, until it returns from the issuer. */
export interface IssuerSignIn {
  readonly issuer: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** The secret of PKCE (RFC 7636): a code that somebody intercepts is worthless without it. */
  readonly verifier: string;
}

interface Discovered {
  readonly configuration: Promise<openid.Configuration>;
  readonly until: number;
}

/**
 * Davit as a client of OpenID Connect issuers: the authorization code flow with PKCE, in a browser. The id token is
 * verified as the JWTs of programs are.
 */
export class IssuerClients {
  readonly #clients: readonly OidcClient[];
  readonly #issuers: Issuers;
  readonly #discovered = new Map<string, Discovered>();

  constructor(clients: readonly OidcClient[], issuers: Issuers) {
    this.#clients = clients;
    this.#issuers = issuers;
  }

  /** Returns the URL of the issuer's sign-in page. NOT_FOUND, ISSUER_UNAVAILABLE. */
  async begin(issuer: string, redirectUri: string): Promise<{ readonly url: string; readonly signIn: IssuerSignIn }> {
    const configuration = await this.#configurationOf(issuer);
    const [state, nonce, verifier] = [openid.randomState(), openid.randomNonce(), openid.randomPKCECodeVerifier()];
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope,
      state,
      nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    if (!isTrustworthyAddress(url.href)) throw unavailable(issuer, 'its sign-in page is not an https address');
    return { url: url.href, signIn: { issuer, redirectUri, state, nonce, verifier } };
  }

  /**
   * Returns the verified claims of the person. `response`: the query with which the issuer sent the browser back.
   * SIGN_IN_REFUSED, ISSUER_UNAVAILABLE, UNAUTHORIZED.
   */
  async finish(signIn: IssuerSignIn, response: string): Promise<IssuedClaims> {
    const configuration = await this.#configurationOf(signIn.issuer);
    const page = new URL(signIn.redirectUri);
    page.search = response;
    return translated(signIn.issuer, async () => {
      const tokens = await openid.authorizationCodeGrant(configuration, page, {
        pkceCodeVerifier: signIn.verifier,
        expectedState: signIn.state,
        expectedNonce: signIn.nonce,
        idTokenExpected: true,
      });
      const issued = await this.#issuers.verify(tokens.id_token ?? '');
      return { ...issued, claims: await withEmail(configuration, tokens.access_token, issued) };
    });
  }

  #configurationOf(issuer: string): Promise<openid.Configuration> {
    const client = this.#clients.find((one) => one.issuer === issuer);
    if (client === undefined) {
      throw new AppError({ code: 'NOT_FOUND', message: 'People do not sign in through this issuer in a browser.' });
    }
    const known = this.#discovered.get(issuer);
    if (known !== undefined && known.until > Date.now()) return known.configuration;
    const configuration = translated(issuer, () => discover(client));
    const discovered = { configuration, until: Date.now() + freshMilliseconds };
    this.#discovered.set(issuer, discovered);
    // The caller gets the failure; the next one tries again.
    configuration.catch(() => {
      if (this.#discovered.get(issuer) === discovered) this.#discovered.delete(issuer);
    });
    return configuration;
  }
}

/** Throws SIGN_IN_EXPIRED if an answer is not the one to this sign-in: it then stays usable for the right answer. */
export function requireState({ state }: IssuerSignIn, response: string): void {
  if (new URLSearchParams(response).get('state') !== state) throw expired();
}

function discover({ issuer, clientId, clientSecret }: OidcClient): Promise<openid.Configuration> {
  const authentication = clientSecret === null ? openid.None() : withSecret(clientSecret.reveal());
  return openid.discovery(new URL(issuer), clientId, undefined, authentication, {
    timeout: answerSeconds,
    // The configuration accepts http only for issuers on this machine.
    execute: issuer.startsWith('http://') ? [openid.allowInsecureRequests] : [],
  });
}

/** Issuers support the header, unless they say that they support the form only. */
function withSecret(secret: string): openid.ClientAuth {
  const [basic, post] = [openid.ClientSecretBasic(secret), openid.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const usesForm = !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
    (usesForm ? post : basic)(server, ...rest);
  };
}

/** Many issuers have the address and name of a person not in the id token but behind an address of their own. */
async function withEmail(
  configuration: openid.Configuration,
  accessToken: string,
  { subject, claims }: IssuedClaims,
): Promise<JWTPayload> {
  if (claims['email'] !== undefined || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
  return { ...(await openid.fetchUserInfo(configuration, accessToken, subject)), ...claims };
}

const clientAdvice = 'check DAVIT_OIDC_CLIENT_ID and DAVIT_OIDC_CLIENT_SECRET';

/** Codes of the client for answers that came, but are not those to the sign-in. */
const wrongAnswers: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
]);

/** Translates the failures of the client into errors of the API. */
async function translated<Result>(issuer: string, action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (isAppError(error)) throw error;
    if (error instanceof openid.AuthorizationResponseError) throw refused(`The issuer refused: ${wordOf(error.error)}.`, error);
    if (error instanceof openid.WWWAuthenticateChallengeError)
      throw unavailable(issuer, `it refuses Davit; ${clientAdvice}`, error);
    if (error instanceof openid.ResponseBodyError) {
      if (error.error === 'invalid_grant') throw refused('The issuer does not accept its own code any more. Begin again.', error);
      throw unavailable(issuer, `it answered ${wordOf(error.error)}; ${clientAdvice}`, error);
    }
    if (error instanceof openid.ClientError && wrongAnswers.has(error.code ?? '')) {
      throw refused('The answer of the issuer does not belong to this sign-in. Begin again.', error);
    }
    throw unavailable(issuer, 'it cannot be reached or does not answer in time', error);
  }
}

/** Returns the error code of an issuer: codes have only these letters, and other text is not repeated. */
function wordOf(code: string): string {
  return /^[a-z_]{1,60}$/.test(code) ? code : 'an error';
}

function refused(message: string, cause: unknown): AppError {
  return new AppError({ code: 'SIGN_IN_REFUSED', message, cause });
}

function unavailable(issuer: string, why: string, cause?: unknown): AppError {
  return new AppError({
    code: 'ISSUER_UNAVAILABLE',
    message: `People cannot sign in through ${issuer} at the moment: ${why}. Try again in some seconds, or ask the operator.`,
    cause,
  });
}
