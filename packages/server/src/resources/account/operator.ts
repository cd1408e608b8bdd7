import { statement, type Database } from '@davit/db';
import { comparableEmail } from '../../auth/email.ts';
import { adoptOrganization } from './first-run.ts';
import { accountByEmail, createAccount } from './local.ts';
import { makePasswordToken } from './reset.ts';
import { factorDeleteByEmail } from './second-factor.ts';

/* The commands `davit account` of the operator of the machine call these functions. */

export interface ListedAccount {
  readonly email: string;
  readonly name: string | null;
  readonly created_at: string;
  readonly organizations: readonly string[];
}

const accountList = statement<ListedAccount>(
  'local_account_list',
  `select local_account.email, person.name, local_account.created_at,
          array(select organization.name from membership join organization on organization.id = membership.organization_id
                 where membership.person_id = person.id order by lower(organization.name)) as organizations
     from local_account join person on person.id = local_account.person_id order by local_account.email`,
);

// It is no hash, so no password has it.
const noPassword = '!';

export function listAccounts(database: Database): Promise<readonly ListedAccount[]> {
  return database.many(accountList);
}

/** Returns the token of a link to set the password of an account; null: there is no such account. */
export async function resetAccount(database: Database, email: string): Promise<string | null> {
  const account = await database.maybe(accountByEmail, [comparableEmail(email)]);
  return account === undefined ? null : makePasswordToken(database, account.person_id);
}

/** Removes the second factor of an account. Returns whether there was one. */
export async function removeSecondFactor(database: Database, email: string): Promise<boolean> {
  return (await database.run(factorDeleteByEmail, [comparableEmail(email)])) > 0;
}

/**
 * Creates an account without a password. It owns the oldest organization if no person belongs to that one. Returns the
 * token of a link to set the password. EMAIL_TAKEN.
 */
export function createAccountOf(database: Database, email: string): Promise<string> {
  return database.transaction(async (tx) => {
    const id = await createAccount(tx, { email: comparableEmail(email), passwordHash: noPassword, name: null });
    await adoptOrganization(tx, id);
    return makePasswordToken(tx, id);
  });
}
