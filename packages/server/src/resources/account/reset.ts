import { AppError } from '@davit/base';
import type { Body, operations, PathParameters, Response } from '@davit/contract';
import { accessChannel, statement, type Queryable } from '@davit/db';
import { isOwner, type Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { recordPersonEvent } from './audit.ts';
import { pageLink } from '../shared/page-link.ts';
import { notFound } from '../shared/problems.ts';
import { makeLink, readLink, refuse, takeLink } from './links.ts';
import { passkeysDelete } from './passkey-store.ts';
import { securityOf } from './security.ts';
import { requirePasswords, setPassword } from './local.ts';

type Link = Response<(typeof operations)['createPasswordLink']>;
type LinkIds = PathParameters<(typeof operations)['createPasswordLink']>;
type Reset = Response<(typeof operations)['resetPassword']>;
type ResetRequest = Body<(typeof operations)['resetPassword']>;

const validHours = 24;

interface MemberAccount {
  readonly has_password: boolean;
  readonly is_owner: boolean;
  readonly is_elsewhere: boolean;
}

/** Returns what decides whether a member ($2) of an organization ($1) may get a link to set a password. */
const memberAccount = statement<MemberAccount>(
  'member_account',
  `select exists (select from local_account where local_account.person_id = membership.person_id) as has_password,
          organization.owner_id = membership.person_id as is_owner,
          exists (select from membership other
                   where other.person_id = membership.person_id and other.organization_id <> organization.id) as is_elsewhere
     from membership join organization on organization.id = membership.organization_id
    where membership.organization_id = $1 and membership.person_id = $2 and ($3::uuid is null or organization.id = $3)
      for share of membership`,
);

/** Locks a person, so that none of their memberships begins until the transaction ends. */
const personLock = statement('password_link_person_lock', 'select id from person where id = $1 for update');

/**
 * Returns a row if an organization ($2) may still set the password of a member ($1) by a link that was created at $3.
 * It may not if the person has left it, has joined another one since, or has become its owner since. Needs the lock of
 * `personLock`.
 */
const linkStands = statement<{ person_id: string }>(
  'password_link_stands',
  `select membership.person_id
     from membership join organization on organization.id = membership.organization_id
    where membership.organization_id = $2 and membership.person_id = $1
      and (organization.owner_id is distinct from $1 or membership.updated_at < $3::timestamptz)
      and not exists (select from membership other
                       where other.person_id = $1 and other.organization_id <> $2 and other.created_at >= $3::timestamptz)
      for share of membership, organization`,
);

/**
 * Creates a link to set the password of a member. A person who belongs to other organizations too, or who owns this one
 * while the caller does not, must not be taken over. NOT_FOUND, FORBIDDEN, NO_PASSWORD.
 */
export async function createPasswordLink(
  deps: Needs<'database', 'passwords' | 'host' | 'port' | 'publicUrl'>,
  caller: Caller,
  { organizationId, userId }: LinkIds,
): Promise<Link> {
  requirePasswords(deps);
  const token = await deps.database.transaction(async (tx) => {
    await tx.maybe(personLock, [userId]);
    const member = await tx.maybe(memberAccount, [organizationId, userId, caller.organizationId]);
    if (member === undefined) throw notFound('member');
    assertMayReset(caller, member);
    return makeLink(tx, { kind: 'PASSWORD', personId: userId, organizationId, hours: validHours });
  });
  return { link: pageLink(deps.config, 'password', token) };
}

function assertMayReset(caller: Caller, member: MemberAccount): void {
  if (!member.has_password) {
    throw new AppError({ code: 'NO_PASSWORD', message: 'This member signs in through an issuer and has no password here.' });
  }
  const isOperator = caller.organizationId === null && caller.person === null;
  if (isOperator || !(member.is_elsewhere || (member.is_owner && !isOwner(caller)))) return;
  const why = member.is_elsewhere ? 'belongs to other organizations too' : 'owns this organization';
  throw new AppError({
    code: 'FORBIDDEN',
    message: `This member ${why}, so only the operator resets the password: davit account reset.`,
  });
}

/** Returns the token of a link to set a person's password, for the operator. */
export function makePasswordToken(database: Queryable, personId: string): Promise<string> {
  return makeLink(database, { kind: 'PASSWORD', personId, hours: validHours });
}

/** Deletes the sign-ins with a code that a person has confirmed, and whose programs have no token yet. */
const deviceSignInsDelete = statement('device_sign_ins_of_person_delete', 'delete from device_sign_in where person_id = $1');

/** Deletes the API tokens that programs of a person got by the sign-in with a code. */
const deviceTokensDelete = statement(
  'device_tokens_of_person_delete',
  `with gone as (delete from api_token where person_id = $1 returning id) select pg_notify('${accessChannel}', id::text) from gone`,
);

/**
 * Sets a new password, ends all sessions of the person, and removes all passkeys, links, and tokens of programs that
 * signed in with a code: a thief of the lost password may have made them, and would otherwise keep the account.
 * LINK_NOT_VALID.
 */
export async function resetPassword(
  deps: Needs<'database' | 'tokens' | 'sessions' | 'passwords', 'passwords'>,
  client: ClientFacts,
  { token, password }: ResetRequest,
): Promise<Reset> {
  requirePasswords(deps);
  await readLink(deps.database, 'PASSWORD', token);
  const hash = await deps.passwords.hash(password);
  const reset = await deps.database.transaction(async (tx) => {
    const { person_id, organization_id, created_at } = await takeLink(tx, 'PASSWORD', token);
    if (person_id === null) throw new Error('a link to set a password names no person');
    if (organization_id !== null) {
      // The organization that created the link must not take over what the person has become since.
      await tx.maybe(personLock, [person_id]);
      if ((await tx.maybe(linkStands, [person_id, organization_id, created_at])) === undefined) refuse();
    }
    await setPassword(tx, person_id, { hash, former: null });
    await deps.sessions.endAll(person_id, null, tx);
    await recordPersonEvent(tx, person_id, { type: 'UPDATE', part: 'PASSWORD', operation: 'resetPassword', client });
    const removed = await tx.run(passkeysDelete, [person_id]);
    // In this order: a program that takes its token meanwhile is waited for, and then loses it.
    await tx.run(deviceSignInsDelete, [person_id]);
    await tx.run(deviceTokensDelete, [person_id]);
    const { has_second_factor } = await securityOf(tx, person_id);
    return { removed_passkeys: removed, has_second_factor };
  });
  deps.tokens.forget();
  return reset;
}
