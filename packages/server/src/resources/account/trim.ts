import { statement, type Queryable } from '@davit/db';

const linksTrim = statement('links_trim', 'delete from one_time_link where expires_at < clock_timestamp()');
const statesTrim = statement('sign_in_states_trim', 'delete from used_sign_in_state where expires_at < clock_timestamp()');

/**
 * Deletes expired records of accounts. Only the background does this: a deletion by a request would be an event of that
 * request's person in the audit log of the organization whose link expired.
 */
export async function trimAccounts(database: Queryable): Promise<void> {
  await database.run(linksTrim);
  await database.run(statesTrim);
}
