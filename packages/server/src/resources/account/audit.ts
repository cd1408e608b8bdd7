import { statement, type Queryable } from '@davit/db';
import type { ClientFacts } from '../../http/client-facts.ts';

/*
 * An event of a person is in the audit log of each organization that the person belongs to: an administrator
 * sees there who signed in, from where, and with what.
 */

type PersonEvent =
  | { readonly type: 'SIGN_IN' | 'SIGN_OUT'; readonly part: null }
  | { readonly type: 'CREATE' | 'UPDATE' | 'DELETE'; readonly part: 'PASSKEY' | 'PASSWORD' | 'SECOND_FACTOR' | 'SESSION' };

/** Name of the person `person` in histories. */
const personName = 'coalesce(person.name, person.nickname, person.email, person.subject)';
const columns = `organization_id, created_at, event_type, target_type, target_id, target_name, sub_target_type, origin, triggered_by,
  actor, operation, user_agent, address`;

const personEvent = statement(
  'person_event',
  `insert into audit_event (${columns})
   select membership.organization_id, clock_timestamp(), $2, 'MEMBERS_AND_ROLES', person.id, ${personName}, $3, 'CONSOLE',
          ${personName}, person.id::text, $4, $5, $6
     from membership join person on person.id = membership.person_id where membership.person_id = $1`,
);

const refusalCreate = statement(
  'refused_sign_in_create',
  'insert into refused_sign_in (email, operation, address, user_agent) values ($1, $2, $3, $4)',
);

/** Nobody has proved to be the person, so the event is triggered by nobody known. */
const refusalsMove = statement(
  'refused_sign_ins_move',
  `with taken as (delete from refused_sign_in returning *)
   insert into audit_event (${columns})
   select membership.organization_id, taken.created_at, 'SIGN_IN_REFUSED', 'MEMBERS_AND_ROLES', person.id, ${personName}, null, 'CONSOLE',
          'anonymous', 'anonymous', taken.operation, taken.user_agent, taken.address
     from taken join local_account on local_account.email = taken.email join person on person.id = local_account.person_id
     join membership on membership.person_id = person.id order by taken.created_at`,
);

/** Refused sign-ins of an account in a row that are recorded. Guessers must not fill the audit log. */
const mostRefusals = 10;
const longestAgent = 500;

/** Records what a person did, in the audit logs of the person's organizations. */
export async function recordPersonEvent(
  database: Queryable,
  personId: string,
  { type, part, operation, client }: PersonEvent & { readonly operation: string; readonly client: ClientFacts },
): Promise<void> {
  await database.run(personEvent, [personId, type, part, operation, agentOf(client), client.address]);
}

/** Records a refused sign-in, the `count`th in a row for this address. Costs the same if there is no account. */
export async function recordRefusal(
  database: Queryable,
  { email, operation, client, count }: { email: string; operation: string; client: ClientFacts; count: number },
): Promise<void> {
  if (count <= mostRefusals) await database.run(refusalCreate, [email, operation, client.address, agentOf(client)]);
}

/** Moves refused sign-ins to the audit logs. Those for addresses without an account are dropped. */
export async function moveRefusals(database: Queryable): Promise<void> {
  await database.run(refusalsMove);
}

function agentOf({ userAgent }: ClientFacts): string | null {
  return userAgent?.slice(0, longestAgent) ?? null;
}
