import { statement } from '@davit/db';

export type MailKind = 'INVITATION' | 'PASSWORD';

export const mailCreate = statement(
  'mail_create',
  `insert into mail (id, kind, recipient, sealed, invitation_id, expires_at)
   values ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(hours => $6))`,
);

/**
 * Creates a mail ($2 kind, $3 recipient), unless $5 mails of the kind were requested for this recipient, or $6 for all
 * accounts, in an hour. Invented addresses do not count.
 */
export const mailAsk = statement(
  'mail_ask',
  `insert into mail (id, kind, recipient, expires_at)
   select $1, $2::text, $3::text, clock_timestamp() + make_interval(hours => $4)
    where (select count(*) from mail where kind = $2::text and recipient = $3::text
             and created_at > clock_timestamp() - interval '1 hour') < $5::int
      and (select count(*) from mail where kind = $2::text and created_at > clock_timestamp() - interval '1 hour'
             and exists (select from local_account where email = mail.recipient)) < $6::int`,
);

export interface MailRow {
  readonly id: string;
  readonly kind: MailKind;
  readonly recipient: string;
  readonly sealed: Buffer | null;
  readonly attempts: number;
  readonly is_expired: boolean;
}

/** Takes a mail that is due. If this process dies before the mail is sent, the mail is due again after `$1` seconds. */
export const mailTake = statement<MailRow>(
  'mail_take',
  `update mail set attempts = attempts + 1, due_at = clock_timestamp() + make_interval(secs => $1)
    where id = (select id from mail where due_at <= clock_timestamp() order by due_at limit 1 for update skip locked)
   returning id, kind, recipient, sealed, attempts, expires_at < clock_timestamp() as is_expired`,
);

export const mailWrite = statement('mail_write', 'update mail set sealed = $2 where id = $1 and due_at is not null');

export const mailAgain = statement(
  'mail_again',
  'update mail set due_at = clock_timestamp() + make_interval(secs => $2) where id = $1',
);

export const mailEnd = statement('mail_end', 'update mail set due_at = null, sealed = null where id = $1');

export const mailsTrim = statement(
  'mails_trim',
  `delete from mail where due_at is null and created_at < clock_timestamp() - interval '1 day'`,
);
