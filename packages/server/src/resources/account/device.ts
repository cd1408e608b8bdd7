import { createHash, randomBytes, randomInt, randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import type { Body, BuiltInRole, operations, Response, Scope } from '@davit/contract';
import { accessChannel, statement, type Queryable } from '@davit/db';
import { attemptSucceeded, takeAttempt } from '../../auth/attempts.ts';
import { tokenHash } from '../../auth/authenticator.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { pageLink } from '../shared/page-link.ts';
import { invalidReference } from '../shared/problems.ts';
import { newToken } from '../token/index.ts';
import { personOf } from './account.ts';
import { attributeTo } from './local.ts';

type Begin = Body<(typeof operations)['createDeviceSignIn']>;
type Begun = Response<(typeof operations)['createDeviceSignIn']>;
type Token = Response<(typeof operations)['getDeviceToken']>;
type Shown = Response<(typeof operations)['readDeviceSignIn']>;
type Confirm = Body<(typeof operations)['confirmDeviceSignIn']>;
type DeviceScope = Exclude<Scope, 'ADMIN'>;
interface FromPerson {
  readonly caller: Caller;
  readonly client: ClientFacts;
}

const validSeconds = 900;
const pauseSeconds = 5;
const longestPauseSeconds = 60;
const defaultDays = 90;
/**
 * Anybody can begin a sign-in, so the number of those that wait is limited. Requests at the same time may exceed it by
 * the connections of the pool: a lock would let everybody wait for a limit that only keeps the table small.
 */
const waitingAtMost = 10_000;
// Letters that cannot be mistaken for others, and no vowels, so that codes form no words (RFC 8628, 6.1).
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const codeLetters = 8;

const deviceForget = statement('device_forget', 'delete from device_sign_in where expires_at < clock_timestamp()');

const deviceCreate = statement(
  'device_create',
  `insert into device_sign_in (id, device_code_hash, user_code, name, address, wanted_scope, pause_seconds, expires_at)
   select $1, $2, $3, $4, $5, $6, $7, clock_timestamp() + make_interval(secs => $8)
    where (select count(*) from device_sign_in) < $9::int`,
);

interface PolledRow {
  readonly state: 'PENDING' | 'CONFIRMED' | 'DENIED';
  readonly is_early: boolean;
}

/** Notes a request of the program ($1). A request that is too early makes the pause longer, up to $3 seconds. */
const devicePoll = statement<PolledRow>(
  'device_poll',
  `with known as (
     select id, state, coalesce(last_polled_at > clock_timestamp() - make_interval(secs => pause_seconds), false) as is_early
       from device_sign_in where device_code_hash = $1 and expires_at > clock_timestamp() for update
   )
   update device_sign_in
      set last_polled_at = clock_timestamp(),
          pause_seconds = case when known.is_early then least(device_sign_in.pause_seconds + $2::int, $3::int)
            else device_sign_in.pause_seconds end
     from known where device_sign_in.id = known.id returning known.state, known.is_early`,
);

interface TakenRow {
  readonly person_id: string;
  readonly organization_id: string;
  readonly scope: DeviceScope | null;
  readonly token_days: number;
  readonly name: string;
  readonly user_code: string;
}

const deviceTake = statement<TakenRow>(
  'device_take',
  `delete from device_sign_in where device_code_hash = $1 and state = 'CONFIRMED' and expires_at > clock_timestamp()
   returning person_id, organization_id, scope, token_days, name, user_code`,
);

interface MemberRow {
  readonly name: string;
  readonly role: BuiltInRole | null;
  readonly custom_role_id: string | null;
}

const memberRights = statement<MemberRow>(
  'device_member_rights',
  `select coalesce(person.name, person.nickname, person.email, person.subject) as name,
          case when organization.owner_id = person.id then 'OWNER' else membership.role end as role,
          case when organization.owner_id = person.id then null else membership.custom_role_id end as custom_role_id
     from membership join person on person.id = membership.person_id
     join organization on organization.id = membership.organization_id
    where membership.organization_id = $1 and membership.person_id = $2 for share of membership`,
);

const deviceTokenCreate = statement<{ expires_at: string }>(
  'device_token_create',
  `insert into api_token (id, organization_id, person_id, name, description, scope, role, custom_role_id, token_hash, expires_at,
                          created_by)
   values ($1, $2, $3, $4, 'Signed in with a code', $5, $6, $7, $8, clock_timestamp() + make_interval(days => $9), $10)
   returning expires_at`,
);

const deviceTokenRevoke = statement(
  'device_token_revoke',
  `with gone as (delete from api_token where token_hash = $1 and person_id is not null returning id)
   select pg_notify('${accessChannel}', id::text) from gone`,
);

interface TokenPersonRow {
  readonly id: string;
  readonly name: string;
}

const deviceTokenPerson = statement<TokenPersonRow>(
  'device_token_person',
  `select person.id, coalesce(person.name, person.nickname, person.email, person.subject) as name
     from api_token join person on person.id = api_token.person_id where api_token.token_hash = $1`,
);

interface PendingRow {
  readonly name: string;
  readonly scope: DeviceScope | null;
  readonly address: string;
  readonly created_at: string;
  readonly expires_at: string;
}

const deviceRead = statement<PendingRow>(
  'device_read',
  `select name, wanted_scope as scope, address, created_at, expires_at from device_sign_in
    where user_code = $1 and state = 'PENDING' and expires_at > clock_timestamp()`,
);

const deviceDecide = statement(
  'device_decide',
  `update device_sign_in set state = $2, person_id = $3, organization_id = $4, scope = $5, token_days = $6
    where user_code = $1 and state = 'PENDING' and expires_at > clock_timestamp()`,
);

/** Begins the sign-in of a program. OVERLOADED. */
export async function createDeviceSignIn(
  deps: Needs<'database', 'host' | 'port' | 'publicUrl'>,
  { address }: ClientFacts,
  { name, scope }: Begin,
): Promise<Begun> {
  const deviceCode = randomBytes(32).toString('base64url');
  const userCode = newUserCode();
  await deps.database.run(deviceForget);
  const values = [randomUUID(), hashOf(deviceCode), userCode, name, address, scope ?? null, pauseSeconds, validSeconds];
  if ((await deps.database.run(deviceCreate, [...values, waitingAtMost])) === 0) {
    throw new AppError({ code: 'OVERLOADED', message: 'Too many programs wait for their sign-in. Try again in some minutes.' });
  }
  const page = pageLink(deps.config, 'device', userCode);
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page.slice(0, page.indexOf('#')),
    verification_uri_complete: page,
    expires_in: validSeconds,
    interval: pauseSeconds,
  };
}

/**
 * Returns the token of a program once. AUTHORIZATION_PENDING, SLOW_DOWN, ACCESS_DENIED, DEVICE_CODE_EXPIRED: also for a
 * code that is unknown or was used.
 */
export async function getDeviceToken(deps: Needs<'database'>, deviceCode: string): Promise<Token> {
  const hash = hashOf(deviceCode);
  const polled = await deps.database.maybe(devicePoll, [hash, pauseSeconds, longestPauseSeconds]);
  if (polled === undefined) throw expired();
  if (polled.state === 'DENIED') throw denied();
  if (polled.state === 'CONFIRMED') return deps.database.transaction((tx) => takeToken(tx, hash));
  if (polled.is_early) {
    const message = `The program asks too often. Its pause is ${pauseSeconds} s longer from now on.`;
    throw new AppError({ code: 'SLOW_DOWN', message });
  }
  throw new AppError({ code: 'AUTHORIZATION_PENDING', message: 'Nobody has confirmed the user code yet. Ask again later.' });
}

async function takeToken(tx: Queryable, hash: Buffer): Promise<Token> {
  const taken = await tx.maybe(deviceTake, [hash]);
  if (taken === undefined) throw expired();
  const { person_id, organization_id, scope, token_days, user_code } = taken;
  // The rights are read now: the person may have lost them after the confirmation.
  const member = await tx.maybe(memberRights, [organization_id, person_id]);
  if (member === undefined || !mayGive(member, scope)) throw denied();
  const token = newToken();
  const id = randomUUID();
  const name = `${taken.name} (${user_code})`;
  await attributeTo(tx, { id: person_id, name: member.name });
  const { expires_at } = await tx.one(deviceTokenCreate, [
    id,
    organization_id,
    person_id,
    name,
    scope,
    scope === null ? member.role : null,
    scope === null ? member.custom_role_id : null,
    tokenHash(token),
    token_days,
    member.name,
  ]);
  return { access_token: token, token_type: 'Bearer', token_id: id, name, organization_id, expires_at };
}

/** Deletes the token of a program. A token that is unknown, or that no program got by a code, changes nothing. */
export async function revokeDeviceToken(deps: Needs<'database' | 'tokens'>, token: string): Promise<void> {
  const hash = tokenHash(token);
  const isKnown = await deps.database.transaction(async (tx) => {
    const person = await tx.maybe(deviceTokenPerson, [hash]);
    if (person === undefined) return false;
    await attributeTo(tx, person);
    await tx.run(deviceTokenRevoke, [hash]);
    return true;
  });
  // Anybody may send an unknown token, which must not empty the cache.
  if (isKnown) deps.tokens.forget();
}

/** Returns whether a member has all rights of a scope. A token without a scope has the role of the member. */
function mayGive({ role }: Pick<MemberRow, 'role'>, scope: DeviceScope | null): boolean {
  if (scope === null) return true;
  if (role === 'VIEWER') return scope === 'READ';
  return role === 'OWNER' || role === 'ADMIN' || role === 'DEVOPS';
}

/** Returns the program that shows a user code. LINK_NOT_VALID, RATE_LIMITED. */
export async function readDeviceSignIn(deps: Needs<'database'>, from: FromPerson, userCode: string): Promise<Shown> {
  return guarded(deps, from, async () => {
    const row = await deps.database.maybe(deviceRead, [normal(userCode)]);
    if (row === undefined) throw unknownCode();
    return row;
  });
}

/** Confirms a user code for an organization. FORBIDDEN, INVALID_REFERENCE, LINK_NOT_VALID, RATE_LIMITED. */
export async function confirmDeviceSignIn(deps: Needs<'database'>, from: FromPerson, request: Confirm): Promise<void> {
  const { id } = personOf(from.caller);
  const { organization_id, scope = null, expires_in_days: days = defaultDays } = request;
  const member = await deps.database.maybe(memberRights, [organization_id, id]);
  if (member === undefined) throw invalidReference('organization_id', 'is not one of your organizations');
  if (!mayGive(member, scope)) {
    throw new AppError({
      code: 'FORBIDDEN',
      message: `A token of scope ${scope} may do more than your role. Leave the scope out: the token then has your role.`,
    });
  }
  await decide(deps, from, [normal(request.user_code), 'CONFIRMED', id, organization_id, scope, days]);
}

/** Refuses a user code. LINK_NOT_VALID, RATE_LIMITED. */
export async function denyDeviceSignIn(deps: Needs<'database'>, from: FromPerson, userCode: string): Promise<void> {
  await decide(deps, from, [normal(userCode), 'DENIED', null, null, null, null]);
}

function decide(deps: Needs<'database'>, from: FromPerson, values: readonly (string | number | null)[]): Promise<void> {
  return guarded(deps, from, async () => {
    if ((await deps.database.run(deviceDecide, [...values])) === 0) throw unknownCode();
  });
}

/** User codes are short, so guesses are slowed down. */
async function guarded<Result>(
  deps: Needs<'database'>,
  { caller, client }: FromPerson,
  action: () => Promise<Result>,
): Promise<Result> {
  const attempt = { subject: `user codes of ${personOf(caller).id}`, address: client.address };
  await takeAttempt(deps.database, attempt);
  const result = await action();
  await attemptSucceeded(deps.database, attempt);
  return result;
}

function newUserCode(): string {
  const code = Array.from({ length: codeLetters }, () => letters[randomInt(letters.length)]).join('');
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** Returns a user code as it is stored. People leave the dash out, or type small letters. */
function normal(userCode: string): string {
  const code = userCode.toUpperCase().replaceAll(/[^A-Z]/g, '');
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

function hashOf(deviceCode: string): Buffer {
  return createHash('sha256').update(deviceCode).digest();
}

function unknownCode(): AppError {
  return new AppError({ code: 'LINK_NOT_VALID', message: 'No program waits with this code. It may have expired.' });
}

function expired(): AppError {
  return new AppError({
    code: 'DEVICE_CODE_EXPIRED',
    message: 'The device code is unknown, was used or has expired. Begin again.',
  });
}

function denied(): AppError {
  return new AppError({ code: 'ACCESS_DENIED', message: 'The person refused this program.' });
}
