import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import { statement, type Queryable } from '@davit/db';

type Kind = 'FIRST_RUN' | 'INVITATION' | 'PASSWORD';

interface LinkRow {
  readonly person_id: string | null;
  readonly invitation_id: string | null;
  /** The organization whose administrator created the link; null: nobody of an organization did. */
  readonly organization_id: string | null;
  readonly created_at: string;
}

/**
 * Creates a link. Parameters: id, kind, hash, person, invitation, hours, and the organization whose log gets an event.
 * The link is as old as the transaction, so that whatever waited for the transaction is later than the link.
 */
const linkCreate = statement(
  'link_create',
  `insert into one_time_link (id, kind, token_hash, person_id, invitation_id, expires_at, organization_id, created_at)
   values ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(hours => $6), $7, now())`,
);

const linkRead = statement<LinkRow>(
  'link_read',
  `select person_id, invitation_id, organization_id, created_at from one_time_link
    where kind = $1 and token_hash = $2 and expires_at > clock_timestamp()`,
);

const linkTake = statement<LinkRow>(
  'link_take',
  `delete from one_time_link where kind = $1 and token_hash = $2 and expires_at > clock_timestamp()
   returning person_id, invitation_id, organization_id, created_at`,
);

export interface LinkTarget {
  readonly kind: Kind;
  readonly personId?: string;
  readonly invitationId?: string;
  /** The organization whose audit log contains an event of the link. */
  readonly organizationId?: string;
  readonly hours: number;
}

/** Creates a link that can be used once. Returns its token, of which only the hash is stored. */
export async function makeLink(database: Queryable, target: LinkTarget): Promise<string> {
  const { kind, personId = null, invitationId = null, organizationId = null, hours } = target;
  const token = randomBytes(32).toString('base64url');
  await database.run(linkCreate, [randomUUID(), kind, hashOf(token), personId, invitationId, hours, organizationId]);
  return token;
}

/** Returns what a link is for, without using it up. Throws LINK_NOT_VALID. */
export async function readLink(database: Queryable, kind: Kind, token: string): Promise<LinkRow> {
  return (await database.maybe(linkRead, [kind, hashOf(token)])) ?? refuse();
}

/** Uses a link up: of concurrent calls one gets it. Throws LINK_NOT_VALID. */
export async function takeLink(database: Queryable, kind: Kind, token: string): Promise<LinkRow> {
  return (await database.maybe(linkTake, [kind, hashOf(token)])) ?? refuse();
}

/** Throws LINK_NOT_VALID. */
export function refuse(): never {
  throw new AppError({ code: 'LINK_NOT_VALID', message: 'The link was used already or has expired. Ask for a new one.' });
}

/** Tokens of links have 256 random bits: a fast hash is as secure as a slow one, and guesses need no further limit. */
function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
