import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '@davit/db';
import { TooManyAttempts } from '../../auth/attempts.ts';
import type { Vault } from '../../secrets/vault.ts';
import { invitationsCount, mailAsk, mailCreate, mailsLock, mailsTrim, type MailKind } from './store.ts';

export interface Mail {
  readonly subject: string;
  readonly text: string;
}

/** Mails of a kind that one recipient, and the whole installation, can ask for in an hour. */
const mostPerRecipient = 3;
const mostPerHour = 200;

/**
 * Invitations that are mailed to one address in a day, of an organization in an hour, and of all organizations of less
 * than a day in an hour: a person who creates many organizations gets no more, and does not stop the older ones.
 */
const mostInvitations = { recipient: 5, organization: 100, newcomers: 300 };

interface InvitationMail {
  readonly mail: Mail;
  readonly recipient: string;
  readonly organizationId: string;
  readonly invitationId: string;
  readonly hours: number;
}

/**
 * Queues the mail of an invitation, in the transaction that creates the invitation. RATE_LIMITED: nobody may fill the
 * mailboxes of others, or spoil the reputation of the mail server.
 */
export async function queueInvitation(
  { vault }: { readonly vault: Vault },
  tx: Queryable,
  { mail, recipient, organizationId, invitationId, hours }: InvitationMail,
): Promise<void> {
  await tx.maybe(mailsLock, ['INVITATION']);
  const counts = await tx.one(invitationsCount, [recipient, organizationId]);
  const limits = [
    ['recipient', 'one address gets', 'a day'],
    ['organization', 'an organization sends', 'an hour'],
    ['newcomers', 'organizations of less than a day together send', 'an hour'],
  ] as const;
  for (const [of, who, time] of limits) {
    if (counts[of] < mostInvitations[of]) continue;
    const message = `Too many invitations by mail: ${who} ${mostInvitations[of]} in ${time} at most.`;
    throw new TooManyAttempts(Math.max(1, counts[`${of}_seconds`] ?? 1), message);
  }
  const id = randomUUID();
  await tx.run(mailCreate, [id, 'INVITATION', recipient, sealMail(vault, id, mail), invitationId, organizationId, hours]);
}

/**
 * Queues a mail to an address that anybody may name. The text is written when the mail is sent, so that the request
 * takes as long for an address without an account. Beyond the limits nothing is queued, and the caller does not learn
 * it.
 */
export async function askForMail(
  database: Database,
  { kind, recipient, hours }: { readonly kind: MailKind; readonly recipient: string; readonly hours: number },
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.maybe(mailsLock, [kind]);
    await tx.run(mailAsk, [randomUUID(), kind, recipient, hours, mostPerRecipient, mostPerHour]);
  });
}

/** Deletes the records of mails that were sent or given up a day ago. */
export async function trimMails(database: Queryable): Promise<void> {
  await database.run(mailsTrim);
}

export function sealMail(vault: Vault, id: string, mail: Mail): Buffer {
  return vault.seal(id, JSON.stringify(mail));
}
