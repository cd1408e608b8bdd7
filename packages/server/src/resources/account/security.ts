import type { operations, Response } from '@davit/contract';
import { statement, type Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { personOf } from './account.ts';

type Security = Response<(typeof operations)['getAccountSecurity']>;

const securityRead = statement<Omit<Security, 'has_password'>>(
  'account_security',
  `select (select email from local_account where local_account.person_id = person.id) as email,
          exists (select from second_factor where second_factor.person_id = person.id and confirmed_at is not null) as has_second_factor,
          (select count(*)::int from recovery_code where recovery_code.person_id = person.id) as recovery_codes,
          (select count(*)::int from passkey where passkey.person_id = person.id) as passkeys
     from person where person.id = $1`,
);

/** Returns how the caller signs in. */
export function readSecurity({ database }: Needs<'database'>, caller: Caller): Promise<Security> {
  return securityOf(database, personOf(caller).id);
}

/** Returns how a person signs in. */
export async function securityOf(database: Queryable, personId: string): Promise<Security> {
  const row = await database.one(securityRead, [personId]);
  return { ...row, has_password: row.email !== null };
}
