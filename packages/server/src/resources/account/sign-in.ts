import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { attemptSucceeded, takeAttempt } from '../../auth/attempts.ts';
import { comparableEmail } from '../../auth/email.ts';
import type { CookieSession } from '../../auth/sessions.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { recordPersonEvent, recordRefusal } from './audit.ts';
import { accountByEmail, accountStands, requirePasswords } from './local.ts';
import { assertNoSecondFactor, requireSecondFactor } from './second-factor.ts';

type Options = Response<(typeof operations)['getSignInOptions']>;
type SignInRequest = Body<(typeof operations)['signIn']>;
export type SignedIn = Response<(typeof operations)['signIn']>;

/** A session that began, for the cookie, and the body of the response. */
export interface Begun<Answer = SignedIn> {
  readonly session: CookieSession;
  readonly answer: Answer;
}

type OptionDeps = Needs<never, 'passwords' | 'mail' | 'oidcIssuers' | 'oidcClients'>;

/** `passkeys`: whether browsers offer them at the address of this request. */
export function readOptions({ config }: OptionDeps, passkeys: boolean): Options {
  return {
    passwords: config.passwords,
    passkeys,
    sends_mail: config.passwords && config.mail !== null,
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
  const count = await takeAttempt(deps.database, attempt);
  const refusal = { email, operation: 'signIn', client, count };
  const account = await deps.database.maybe(accountByEmail, [email]);
  const isRight = await deps.passwords.verify(request.password, account?.password_hash ?? null);
  if (account === undefined || !isRight) {
    await recordRefusal(deps.database, refusal);
    throw wrongPassword();
  }
  let hasFactor: boolean;
  try {
    hasFactor = await requireSecondFactor(deps, { personId: account.person_id, code: request.code, client });
  } catch (error) {
    // Without a code the sign-in is not refused yet: the page asks for it, and the password was no guess.
    await (request.code === undefined ? attemptSucceeded(deps.database, attempt) : recordRefusal(deps.database, refusal));
    throw error;
  }
  await attemptSucceeded(deps.database, attempt);
  const { person_id: personId, password_hash: hash } = account;
  // A password that is set in the meantime ends all sessions, and must end this one as well. So does a second factor.
  const stands = async (tx: Queryable): Promise<void> => {
    if ((await tx.maybe(accountStands, [personId, hash])) === undefined) throw wrongPassword();
    if (!hasFactor) await assertNoSecondFactor(tx, personId);
  };
  const session = await beginSession(deps, client, { personId, operation: 'signIn', stands });
  return { session, answer: toSignedIn(account.person_id, account.email, session) };
}

function wrongPassword(): AppError {
  return new AppError({ code: 'SIGN_IN_REFUSED', message: 'The e-mail address or the password is wrong.' });
}

interface Proof {
  readonly personId: string;
  readonly operation: string;
  /** Throws, in the transaction that begins the session, if the proof counts no longer. Left out: it always does. */
  readonly stands?: (tx: Queryable) => Promise<void>;
}

/** Begins the session of a person who has proved their identity, and ends the former one of the browser. */
export async function beginSession(
  deps: Needs<'database' | 'tokens' | 'sessions'>,
  client: ClientFacts,
  { personId, operation, stands }: Proof,
): Promise<CookieSession> {
  // The browser forgets the former session, so that nobody could end it any more.
  if (client.sessionToken !== undefined) {
    await deps.sessions.endCookie(client.sessionToken);
    deps.tokens.forget();
  }
  const session = await deps.database.transaction(async (tx) => {
    await stands?.(tx);
    return deps.sessions.begin(personId, client, tx);
  });
  await recordPersonEvent(deps.database, personId, { type: 'SIGN_IN', part: null, operation, client });
  return session;
}

export function toSignedIn(personId: string, email: string | null, { id, expiresAt }: CookieSession): SignedIn {
  return { person_id: personId, email, session_id: id, expires_at: expiresAt.toISOString() };
}
