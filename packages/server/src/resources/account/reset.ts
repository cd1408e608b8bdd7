import { AppError } from '@davit/base';
import type { Body, operations, PathParameters, Response } from '@davit/contract';
import { accessChannel, statement, type Queryable } from '@davit/db';
import { isOwner, type Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { recordPersonEvent } from './audit.ts';
import { pageLink } from '../shared/page-link.ts';
import { notFound } from '../shared/problems.ts';
import { makeLink, readLink, takeLink } from './links.ts';
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
    where membership.organization_id = $1 and membership.person_id = $2 and ($3::uuid is null or organization.id = $3)`,
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
  const member = await deps.database.maybe(memberAccount, [organizationId, userId, caller.organizationId]);
  if (member === undefined) throw notFound('member');
  if (!member.has_password) {
    throw new AppError({ code: 'NO_PASSWORD', message: 'This member signs in through an issuer and has no password here.' });
  }
  const isOperator = caller.organizationId === null && caller.person === null;
  if (!isOperator && (member.is_elsewhere || (member.is_owner && !isOwner(caller)))) {
    const why = member.is_elsewhere ? 'belongs to other organizations too' : 'owns this organization';
    throw new AppError({
      code: 'FORBIDDEN',
      message: `This member ${why}, so only the operator resets the password: davit account reset.`,
    });
  }
  const token = await makeLink(deps.database, { kind: 'PASSWORD', personId: userId, organizationId, hours: validHours });
  return { link: pageLink(deps.config, 'password', token) };
}

/** Returns the token of a link to set a person's password, for the operator. */
export function makePasswordToken(database: Queryable, personId: string): Promise<string> {
  return makeLink(database, { kind: 'PASSWORD', personId, hours: validHours });
}

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
    const { person_id } = await takeLink(tx, 'PASSWORD', token);
    if (person_id === null) throw new Error('a link to set a password names no person');
    await setPassword(tx, person_id, { hash, former: null });
    await deps.sessions.endAll(person_id, null, tx);
    await recordPersonEvent(tx, person_id, { type: 'UPDATE', part: 'PASSWORD', operation: 'resetPassword', client });
    const removed = await tx.run(passkeysDelete, [person_id]);
    await tx.run(deviceTokensDelete, [person_id]);
    const { has_second_factor } = await securityOf(tx, person_id);
    return { removed_passkeys: removed, has_second_factor };
  });
  deps.tokens.forget();
  return reset;
}
