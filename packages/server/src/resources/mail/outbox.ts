import { randomUUID } from 'node:crypto';
import type { Queryable } from '@davit/db';
import type { Vault } from '../../secrets/vault.ts';
import { mailAsk, mailCreate, mailsTrim, type MailKind } from './store.ts';

export interface Mail {
  readonly subject: string;
  readonly text: string;
}

/** Mails of a kind that one recipient, and the whole installation, can ask for in an hour. */
const mostPerRecipient = 3;
const mostPerHour = 200;

/** Queues the mail of an invitation, in the transaction that creates the invitation. */
export async function queueInvitation(
  { vault }: { readonly vault: Vault },
  tx: Queryable,
  { mail, recipient, invitationId, hours }: { mail: Mail; recipient: string; invitationId: string; hours: number },
): Promise<void> {
  const id = randomUUID();
  await tx.run(mailCreate, [id, 'INVITATION', recipient, sealMail(vault, id, mail), invitationId, hours]);
}

/**
 * Queues a mail to an address that anybody may name. The text is written when the mail is sent, so that the request
 * takes as long for an address without an account. Beyond the limits nothing is queued, and the caller does not learn
 * it.
 */
export async function askForMail(
  database: Queryable,
  { kind, recipient, hours }: { readonly kind: MailKind; readonly recipient: string; readonly hours: number },
): Promise<void> {
  await database.run(mailAsk, [randomUUID(), kind, recipient, hours, mostPerRecipient, mostPerHour]);
}

/** Deletes the records of mails that were sent or given up a day ago. */
export async function trimMails(database: Queryable): Promise<void> {
  await database.run(mailsTrim);
}

export function sealMail(vault: Vault, id: string, mail: Mail): Buffer {
  return vault.seal(id, JSON.stringify(mail));
}
