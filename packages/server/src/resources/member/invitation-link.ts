import type { Body, operations, Response } from '@davit/contract';
import { statement, type Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import { accessChanged } from '../../auth/store.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { createAccount, personOf, readLink, requirePasswords, takeLink, toSignedIn, type Begun } from '../account/index.ts';
import { roleNameOf } from '../role/index.ts';
import { alreadyMember } from './invitation.ts';
import * as store from './store.ts';

type Shown = Response<(typeof operations)['readInvitationLink']>;
type AcceptRequest = Body<(typeof operations)['acceptInvitationLink']>;
type Accepted = Response<(typeof operations)['acceptInvitationLink']>;
type Joined = Response<(typeof operations)['joinByInvitationLink']>;

/** Reads an invitation without its organization's id: the token of the link has proved the right to see it. */
const invitationOfLink = statement<store.InvitationRow>(
  'invitation_of_link',
  `select ${store.invitationColumns} from invitation ${store.invitationTables} where invitation.id = $1`,
);

/** Returns the invitation of a link. LINK_NOT_VALID. */
export async function readInvitationLink(deps: Needs<'database'>, token: string): Promise<Shown> {
  const row = await invitationOf(deps, token);
  return {
    email: row.email,
    organization_id: row.organization_id,
    organization_name: row.organization_name,
    inviter: row.inviter,
    role_name: roleNameOf(row),
    expires_at: row.expires_at,
  };
}

/** Accepts with a new account for the address of the invitation. LINK_NOT_VALID, EMAIL_TAKEN. */
export async function acceptInvitationLink(
  deps: Needs<'database' | 'tokens' | 'sessions' | 'passwords', 'passwords'>,
  client: ClientFacts,
  { token, password, name }: AcceptRequest,
): Promise<Begun<Accepted>> {
  requirePasswords(deps);
  const { email, organization_id } = await invitationOf(deps, token);
  const passwordHash = await deps.passwords.hash(password);
  const begun = await deps.database.transaction(async (tx) => {
    const personId = await createAccount(tx, { email, passwordHash, name: name ?? null });
    await join(tx, { token, organizationId: organization_id, personId });
    const session = await deps.sessions.begin(personId, client, tx);
    return { session, answer: { ...toSignedIn(personId, email, session), organization_id } };
  });
  deps.tokens.forget();
  return begun;
}

/** Accepts as the signed-in person. LINK_NOT_VALID, ALREADY_MEMBER. */
export async function joinByInvitationLink(deps: Needs<'database' | 'tokens'>, caller: Caller, token: string): Promise<Joined> {
  const { id: personId } = personOf(caller);
  const { organization_id: organizationId } = await invitationOf(deps, token);
  await deps.database.transaction((tx) => join(tx, { token, organizationId, personId }));
  deps.tokens.forget();
  return { organization_id: organizationId };
}

async function invitationOf(deps: Needs<'database'>, token: string): Promise<store.InvitationRow> {
  const { invitation_id } = await readLink(deps.database, 'INVITATION', token);
  return deps.database.one(invitationOfLink, [invitation_id]);
}

interface Joining {
  readonly token: string;
  readonly organizationId: string;
  readonly personId: string;
}

async function join(tx: Queryable, { token, organizationId, personId }: Joining): Promise<void> {
  // The organization is locked first, as in all changes of members.
  await tx.maybe(store.organizationHold, [organizationId, organizationId]);
  const { invitation_id } = await takeLink(tx, 'INVITATION', token);
  const { role, custom_role_id } = await tx.one(store.invitationTakeById, [organizationId, invitation_id]);
  const count = await tx.run(store.memberCreate, [organizationId, personId, role, custom_role_id]);
  if (count === 0) throw alreadyMember();
  await tx.run(accessChanged);
}
