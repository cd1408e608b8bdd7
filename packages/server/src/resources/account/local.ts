import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import { isUniqueViolation, statement, type Queryable } from '@davit/db';
import type { Needs } from '../../deps.ts';

/** Issuer of people with a local account. No configured issuer can have this name, since those are URLs. */
export const localIssuer = 'davit-local';

export interface LocalAccount {
  readonly person_id: string;
  readonly email: string;
  readonly password_hash: string;
}

const columns = 'person_id, email, password_hash';

export const accountByEmail = statement<LocalAccount>(
  'local_account_by_email',
  `select ${columns} from local_account where email = $1`,
);

export const accountByPerson = statement<LocalAccount>(
  'local_account_by_person',
  `select ${columns} from local_account where person_id = $1`,
);

/**
 * Locks an account against a new password until the transaction ends. Returns nothing if the password was changed. $2:
 * its hash; null: any.
 */
export const accountStands = statement<{ person_id: string }>(
  'local_account_stands',
  'select person_id from local_account where person_id = $1 and ($2::text is null or password_hash = $2) for share',
);

/**
 * Creates a person ($1) with a local account. The address is not verified, so that it opens no invitation to that
 * address: a link does.
 */
const accountCreate = statement(
  'local_account_create',
  `with made as (insert into person (id, issuer, subject, email, name) values ($1::uuid, '${localIssuer}', $1::uuid::text, $2, $4) returning id)
   insert into local_account (person_id, email, password_hash) select id, $2, $3 from made`,
);

/** Sets a new hash ($2), if the stored one is still $3; null: whatever is stored. Deletes the links to reset it. */
const passwordSet = statement(
  'local_account_password_set',
  `with links as (delete from one_time_link where kind = 'PASSWORD' and person_id = $1)
   update local_account set password_hash = $2, password_changed_at = clock_timestamp()
    where person_id = $1 and ($3::text is null or password_hash = $3)`,
);

const requestBy = statement(
  'request_by_person',
  `select set_config('davit.request', (current_setting('davit.request')::jsonb || $1::jsonb)::text, true)
    where coalesce(current_setting('davit.request', true), '') <> ''`,
);

export interface NewAccount {
  readonly email: string;
  readonly passwordHash: string;
  readonly name: string | null;
}

/** Creates a person with a local account, in a transaction. Returns the person's id. EMAIL_TAKEN. */
export async function createAccount(tx: Queryable, { email, passwordHash, name }: NewAccount): Promise<string> {
  const id = randomUUID();
  try {
    await tx.run(accountCreate, [id, email, passwordHash, name]);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new AppError({ code: 'EMAIL_TAKEN', message: 'There is an account with this e-mail address. Sign in with it.' });
  }
  await attributeTo(tx, { id, name: name ?? email });
  return id;
}

/** Attributes the changes of this transaction in the audit log to a person, for a request without a token. */
export async function attributeTo(tx: Queryable, { id, name }: { readonly id: string; readonly name: string }): Promise<void> {
  await tx.run(requestBy, [JSON.stringify({ actor: id, triggered_by: name })]);
}

/** Returns whether the password was set: not if it was changed at the same time. */
export async function setPassword(
  database: Queryable,
  personId: string,
  { hash, former }: { readonly hash: string; readonly former: string | null },
): Promise<boolean> {
  return (await database.run(passwordSet, [personId, hash, former])) > 0;
}

/** Throws FORBIDDEN if the operator has switched passwords off. */
export function requirePasswords({ config }: Needs<never, 'passwords'>): void {
  if (config.passwords) return;
  throw new AppError({ code: 'FORBIDDEN', message: 'Passwords are switched off on this installation (DAVIT_PASSWORDS).' });
}
