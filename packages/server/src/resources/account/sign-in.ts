import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import { attemptSucceeded, takeAttempt } from '../../auth/attempts.ts';
import { comparableEmail } from '../../auth/email.ts';
import type { CookieSession } from '../../auth/sessions.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { accountByEmail, requirePasswords } from './local.ts';
import { requireSecondFactor } from './second-factor.ts';

type Options = Response<(typeof operations)['getSignInOptions']>;
type SignInRequest = Body<(typeof operations)['signIn']>;
export type SignedIn = Response<(typeof operations)['signIn']>;

/** A session that began, for the cookie, and the body of the response. */
export interface Begun<Answer = SignedIn> {
  readonly session: CookieSession;
  readonly answer: Answer;
}

export function readOptions({ config }: Needs<never, 'passwords' | 'oidcIssuers' | 'oidcClients'>): Options {
  return {
    passwords: config.passwords,
    issuers: [...config.oidcIssuers],
    browser_issuers: config.oidcClients.map(({ issuer }) => issuer),
  };
}

/**
 * Signs a person in. Everything that fails looks alike and takes as long: an unknown address, a wrong password.
 * SIGN_IN_REFUSED, SECOND_FACTOR_REQUIRED, RATE_LIMITED, OVERLOADED.
 */
export async function signIn(
  deps: Needs<'database' | 'tokens' | 'sessions' | 'passwords' | 'vault', 'passwords'>,
  client: ClientFacts,
  request: SignInRequest,
): Promise<Begun> {
  requirePasswords(deps);
  const email = comparableEmail(request.email.trim());
  const attempt = { subject: email, address: client.address };
  await takeAttempt(deps.database, attempt);
  const account = await deps.database.maybe(accountByEmail, [email]);
  const isRight = await deps.passwords.verify(request.password, account?.password_hash ?? null);
  if (account === undefined || !isRight) {
    throw new AppError({ code: 'SIGN_IN_REFUSED', message: 'The e-mail address or the password is wrong.' });
  }
  await requireSecondFactor(deps, { personId: account.person_id, code: request.code, client });
  await attemptSucceeded(deps.database, attempt);
  const session = await beginSession(deps, client, account.person_id);
  return { session, answer: toSignedIn(account.person_id, account.email, session) };
}

/** Begins the session of a person who has proved their identity, and ends the former one of the browser. */
export async function beginSession(
  deps: Needs<'tokens' | 'sessions'>,
  client: ClientFacts,
  personId: string,
): Promise<CookieSession> {
  // The browser forgets the former session, so that nobody could end it any more.
  if (client.sessionToken !== undefined) {
    await deps.sessions.endCookie(client.sessionToken);
    deps.tokens.forget();
  }
  return deps.sessions.begin(personId, client);
}

export function toSignedIn(personId: string, email: string | null, { id, expiresAt }: CookieSession): SignedIn {
  return { person_id: personId, email, session_id: id, expires_at: expiresAt.toISOString() };
}
