import type { Body, operations, Response } from '@davit/contract';
import { statement, type Queryable } from '@davit/db';
import { comparableEmail } from '../../auth/email.ts';
import { accessChanged } from '../../auth/store.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { createOwnedOrganization } from '../organization/index.ts';
import { createAccount, requirePasswords } from './local.ts';
import { makeLink, readLink, takeLink } from './links.ts';
import { toSignedIn, type Begun } from './sign-in.ts';

type FirstRequest = Body<(typeof operations)['createFirstAccount']>;
type First = Response<(typeof operations)['createFirstAccount']>;

/** Hours for which a link of the first run is valid. Each start makes another one. */
const validHours = 24;
const defaultName = 'My organization';

const peopleExist = statement<{ exist: boolean }>('first_run_people', 'select exists (select from person) as exist');
/** Serializes the creation of the first account. */
const installationLock = statement('first_run_lock', 'select id from installation for update');
const linksForget = statement('first_run_links_forget', `delete from one_time_link where kind = 'FIRST_RUN'`);

/**
 * Makes the oldest organization that of the person ($1), if it belongs to no person yet: an installation that was used
 * with API tokens only. Returns the id of the organization.
 */
const organizationAdopt = statement<{ id: string }>(
  'first_run_organization_adopt',
  `with oldest as (select id from organization order by created_at, id limit 1),
   free as (select id from oldest where not exists (select from membership where organization_id = oldest.id)),
   member as (insert into membership (organization_id, person_id, role) select id, $1, 'ADMIN' from free)
   update organization set owner_id = $1, updated_at = clock_timestamp() where id = (select id from free) returning id`,
);

/**
 * Returns the token of a link for the first account; null: the installation has people, an issuer, or no passwords.
 * Links of other processes and of earlier starts stay valid until one is used.
 */
export async function makeFirstRunToken(deps: Needs<'database', 'passwords' | 'oidcIssuers'>): Promise<string | null> {
  const { passwords, oidcIssuers } = deps.config;
  if (!passwords || oidcIssuers.length > 0) return null;
  if ((await deps.database.one(peopleExist)).exist) return null;
  return makeLink(deps.database, { kind: 'FIRST_RUN', hours: validHours });
}

/**
 * Creates the first account and signs it in. It owns the oldest organization if no person belongs to that one,
 * otherwise a new organization. LINK_NOT_VALID.
 */
export async function createFirstAccount(
  deps: Needs<'database' | 'tokens' | 'sessions' | 'passwords', 'passwords'>,
  client: ClientFacts,
  request: FirstRequest,
): Promise<Begun<First>> {
  requirePasswords(deps);
  await readLink(deps.database, 'FIRST_RUN', request.token);
  const passwordHash = await deps.passwords.hash(request.password);
  const email = comparableEmail(request.email);
  const begun = await deps.database.transaction(async (tx) => {
    await tx.run(installationLock);
    await takeLink(tx, 'FIRST_RUN', request.token);
    await tx.run(linksForget);
    const personId = await createAccount(tx, { email, passwordHash, name: request.name ?? null });
    const organizationId = await organizationFor(tx, personId, request.organization_name);
    await tx.run(accessChanged);
    const session = await deps.sessions.begin(personId, client, tx);
    return { session, answer: { ...toSignedIn(personId, email, session), organization_id: organizationId } };
  });
  deps.tokens.forget();
  return begun;
}

async function organizationFor(tx: Queryable, personId: string, name: string | undefined): Promise<string> {
  return (await adoptOrganization(tx, personId)) ?? createOwnedOrganization(tx, personId, name ?? defaultName);
}

/** Makes the oldest organization that of a person. Returns its id; undefined: there is none, or it has people. */
export async function adoptOrganization(tx: Queryable, personId: string): Promise<string | undefined> {
  return (await tx.maybe(organizationAdopt, [personId]))?.id;
}
