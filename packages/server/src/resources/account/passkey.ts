import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import { isUniqueViolation, type Queryable } from '@davit/db';
import { attemptSucceeded, takeAttempt } from '../../auth/attempts.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { invalid, notFound } from '../shared/problems.ts';
import { expired } from '../../auth/sign-in-states.ts';
import { personOf } from './account.ts';
import { recordPersonEvent, recordRefusal } from './audit.ts';
import { accountStands, requirePasswords } from './local.ts';
import * as store from './passkey-store.ts';
import { confirmPassword } from './password.ts';
import { requireSecondFactor } from './second-factor.ts';
import { beginSession, toSignedIn, type Begun } from './sign-in.ts';

type Passkey = Response<(typeof operations)['createPasskey']>;
type PasskeyList = Response<(typeof operations)['listPasskeys']>;
type Challenge = Body<(typeof operations)['createPasskeyChallenge']>;
type CreationOptions = Response<(typeof operations)['createPasskeyChallenge']>;
type RequestOptions = Response<(typeof operations)['createPasskeySignIn']>;
type PasskeyRequest = Body<(typeof operations)['createPasskey']>;
type SignInRequest = Body<(typeof operations)['signInWithPasskey']>;
type Deps = Needs<'database' | 'tokens' | 'sessions' | 'passwords' | 'vault' | 'signInStates', 'passwords'>;

interface FromPerson {
  readonly caller: Caller;
  readonly client: ClientFacts;
}

/** The data that is sealed into the cookie with a challenge. */
interface ChallengeState {
  readonly challenge: string;
  /** The origin of the page that asked: a passkey answers for no other one. */
  readonly origin: string;
  /** The session that adds a passkey. */
  readonly session?: { readonly personId: string; readonly sessionId: string | null; readonly password: string };
}

/** The options for the browser, and the value of the cookie. */
interface Asked<Options> {
  readonly options: Options;
  readonly state: string;
}

/** Returns a digest of the stored hash of a password, which shows whether the password is still the same. */
function digestOf(passwordHash: string): string {
  return createHash('sha256').update(passwordHash).digest('hex');
}

/** Is loaded with the first passkey: it takes 10 MB, and many installations have none. */
const webAuthn = () => import('@simplewebauthn/server');

const mostPasskeys = 20;
const timeout = 300_000;
/** EdDSA, ES256 and RS256, the preferred one first. */
const algorithms = [-8, -7, -257];
const publicKey = 'public-key' as const;

export async function listPasskeys({ database }: Needs<'database'>, caller: Caller): Promise<PasskeyList> {
  const rows = await database.many(store.passkeyList, [personOf(caller).id]);
  return { results: rows.map(toPasskey) };
}

/**
 * Returns a challenge for a new passkey. FORBIDDEN, NO_PASSWORD, VALIDATION_FAILED, SECOND_FACTOR_REQUIRED,
 * RATE_LIMITED.
 */
export async function challengeNewPasskey(
  deps: Deps,
  from: FromPerson,
  { password, code }: Challenge,
): Promise<Asked<CreationOptions>> {
  const rpId = rpIdOf(from.client);
  const account = await confirmPassword(deps, from, { field: 'password', password });
  await requireSecondFactor(deps, { personId: account.person_id, code, client: from.client });
  const known = await deps.database.many(store.passkeyList, [account.person_id]);
  if (known.length >= mostPasskeys) throw tooMany();
  const challenge = newChallenge();
  const { id: personId, sessionId } = personOf(from.caller);
  const options: CreationOptions = {
    rp: { id: rpId, name: 'Davit' },
    user: { id: handleOf(personId), name: account.email, displayName: account.email },
    challenge,
    pubKeyCredParams: algorithms.map((alg) => ({ alg, type: publicKey })),
    timeout,
    excludeCredentials: known.map(({ credential_id }) => ({ id: credential_id, type: publicKey })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
  };
  const session = { personId, sessionId, password: digestOf(account.password_hash) };
  const state: ChallengeState = { challenge, origin: originOf(from.client), session };
  return { options, state: deps.signInStates.seal('NEW_PASSKEY', state) };
}

/** Adds a passkey. SIGN_IN_EXPIRED, VALIDATION_FAILED, ALREADY_EXISTS, FORBIDDEN. */
export async function createPasskey(deps: Deps, { caller, client }: FromPerson, request: PasskeyRequest): Promise<Passkey> {
  requirePasswords(deps);
  const { id: personId, sessionId } = personOf(caller);
  const state = deps.signInStates.open<ChallengeState>('NEW_PASSKEY', client.signInState);
  const { challenge, origin, session } = state.content;
  if (session?.personId !== personId || session.sessionId !== sessionId) throw expired();
  await deps.signInStates.use(state);
  const { id, response } = request.credential;
  const { verifyRegistrationResponse } = await webAuthn();
  const made = await verifyRegistrationResponse({
    response: { id, rawId: id, type: publicKey, response, clientExtensionResults: {} },
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: new URL(origin).hostname,
    requireUserVerification: true,
    supportedAlgorithmIDs: algorithms,
  }).catch(() => {
    // The library throws plain errors, whose messages repeat what the request contains.
    throw invalidCredential();
  });
  if (!made.verified) throw invalidCredential();
  const { credential, credentialBackedUp } = made.registrationInfo;
  const key = Buffer.from(credential.publicKey);
  const facts = [credential.id, key, credential.counter, credentialBackedUp];
  const values = [randomUUID(), personId, request.name, ...facts, mostPasskeys];
  try {
    const row = await deps.database.transaction(async (tx) => {
      if ((await tx.maybe(store.passkeysLock, [personId, session.password])) === undefined) throw expired();
      const created = await tx.maybe(store.passkeyCreate, values);
      if (created === undefined) throw tooMany();
      return created;
    });
    await recordPersonEvent(deps.database, personId, { type: 'CREATE', part: 'PASSKEY', operation: 'createPasskey', client });
    return toPasskey(row);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new AppError({ code: 'ALREADY_EXISTS', message: 'This passkey was added before.' });
  }
}

/** Renames a passkey of the caller. NOT_FOUND. */
export async function renamePasskey({ database }: Needs<'database'>, caller: Caller, id: string, name: string): Promise<Passkey> {
  const row = await database.maybe(store.passkeyRename, [personOf(caller).id, id, name]);
  if (row === undefined) throw notFound('passkey');
  return toPasskey(row);
}

/** Removes a passkey of the caller. NOT_FOUND. */
export async function deletePasskey({ database }: Needs<'database'>, { caller, client }: FromPerson, id: string): Promise<void> {
  const { id: personId } = personOf(caller);
  if ((await database.run(store.passkeyDelete, [personId, id])) === 0) throw notFound('passkey');
  await recordPersonEvent(database, personId, { type: 'DELETE', part: 'PASSKEY', operation: 'deletePasskey', client });
}

/** Returns a challenge for a sign-in. FORBIDDEN. */
export function challengeSignIn(deps: Needs<'signInStates', 'passwords'>, client: ClientFacts): Asked<RequestOptions> {
  requirePasswords(deps);
  const challenge = newChallenge();
  const options: RequestOptions = { challenge, rpId: rpIdOf(client), timeout, userVerification: 'required' };
  const state: ChallengeState = { challenge, origin: originOf(client) };
  return { options, state: deps.signInStates.seal('PASSKEY', state) };
}

/**
 * Signs a person in by a passkey, which is two factors: the key, and the means to unlock it. A counter that does not
 * grow belongs to a copy of the key. SIGN_IN_EXPIRED, SIGN_IN_REFUSED, RATE_LIMITED.
 */
export async function signInWithPasskey(deps: Deps, client: ClientFacts, { credential }: SignInRequest): Promise<Begun> {
  requirePasswords(deps);
  const state = deps.signInStates.open<ChallengeState>('PASSKEY', client.signInState);
  await deps.signInStates.use(state);
  const attempt = { subject: `passkey ${credential.id}`, address: client.address };
  const count = await takeAttempt(deps.database, attempt);
  const known = await deps.database.maybe(store.passkeyByCredential, [credential.id]);
  if (known === undefined) throw refused();
  try {
    await useKnown(deps.database, known, { state: state.content, credential });
  } catch (error) {
    await recordRefusal(deps.database, { email: known.email, operation: 'signInWithPasskey', client, count });
    throw error;
  }
  await attemptSucceeded(deps.database, attempt);
  // A reset of the password removes passkeys and ends all sessions; this one must not begin after it.
  const stands = async (tx: Queryable): Promise<void> => {
    const [account, passkey] = [
      await tx.maybe(accountStands, [known.person_id, null]),
      await tx.maybe(store.passkeyStands, [known.id]),
    ];
    if (account === undefined || passkey === undefined) throw refused();
  };
  const session = await beginSession(deps, client, { personId: known.person_id, operation: 'signInWithPasskey', stands });
  return { session, answer: toSignedIn(known.person_id, known.email, session) };
}

/** Verifies the answer of a passkey and notes its use. SIGN_IN_REFUSED. */
async function useKnown(
  database: Queryable,
  known: store.StoredPasskey,
  { state, credential }: { readonly state: ChallengeState; readonly credential: SignInRequest['credential'] },
): Promise<void> {
  const { userHandle } = credential.response;
  if (typeof userHandle === 'string' && userHandle !== handleOf(known.person_id)) throw refused();
  const counter = await counterOf(known, state, credential);
  if ((await database.run(store.passkeyUse, [known.id, counter])) === 0) throw refused();
}

/** Verifies the answer of a passkey and returns its counter. SIGN_IN_REFUSED. */
async function counterOf(
  known: store.StoredPasskey,
  { challenge, origin }: ChallengeState,
  { id, response }: SignInRequest['credential'],
): Promise<number> {
  const { clientDataJSON, authenticatorData, signature } = response;
  const { verifyAuthenticationResponse } = await webAuthn();
  const answer = await verifyAuthenticationResponse({
    response: {
      id,
      rawId: id,
      type: publicKey,
      response: { clientDataJSON, authenticatorData, signature },
      clientExtensionResults: {},
    },
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: new URL(origin).hostname,
    credential: { id, publicKey: new Uint8Array(known.public_key), counter: known.counter },
    requireUserVerification: true,
  }).catch((error: unknown) => {
    throw refused(error);
  });
  if (!answer.verified) throw refused();
  return answer.authenticationInfo.newCounter;
}

/** Returns whether browsers offer passkeys at the address of this request: they have none for IP addresses. */
export function hasPasskeys({ config }: Needs<never, 'passwords'>, client: ClientFacts): boolean {
  return config.passwords && isIP(hostOf(client)) === 0;
}

/** Returns the host name for which passkeys are valid. FORBIDDEN: Davit was opened by an IP address. */
function rpIdOf(client: ClientFacts): string {
  const host = hostOf(client);
  if (isIP(host) === 0) return host;
  throw new AppError({
    code: 'FORBIDDEN',
    message: 'Passkeys belong to a host name, and you opened Davit by an IP address. Open it by its name (DAVIT_PUBLIC_URL).',
  });
}

function originOf({ ownUrl }: ClientFacts): string {
  return new URL(ownUrl).origin;
}

function hostOf({ ownUrl }: ClientFacts): string {
  return new URL(ownUrl).hostname.replaceAll(/[[\]]/g, '');
}

function newChallenge(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Returns the person in the form that passkeys store. It does not contain the e-mail address, which some holders show
 * to anybody.
 */
function handleOf(personId: string): string {
  return Buffer.from(personId.replaceAll('-', ''), 'hex').toString('base64url');
}

function toPasskey({ id, name, is_synced, created_at, last_used_at }: store.PasskeyRow): Passkey {
  return { id, name, is_synced, created_at, last_used_at };
}

function invalidCredential(): AppError {
  return invalid('credential', 'does not answer the challenge of this page, or was made without PIN, finger or face');
}

function refused(cause?: unknown): AppError {
  const message = 'The passkey is not known here, or its answer is not valid. Sign in with your password.';
  return new AppError({ code: 'SIGN_IN_REFUSED', message, cause });
}

function tooMany(): AppError {
  return new AppError({ code: 'FORBIDDEN', message: `Your account has ${mostPasskeys} passkeys. Remove one first.` });
}
