import { statement } from '@davit/db';

export type MailKind = 'INVITATION' | 'PASSWORD';

export const mailCreate = statement(
  'mail_create',
  `insert into mail (id, kind, recipient, sealed, invitation_id, organization_id, expires_at)
   values ($1, $2, $3, $4, $5, $6, clock_timestamp() + make_interval(hours => $7))`,
);

/**
 * Locks the mails of a kind until the transaction ends, so that they can be counted by a later statement: a statement
 * that waits for a lock counts what there was before it waited.
 */
export const mailsLock = statement('mails_lock', `select pg_advisory_xact_lock(hashtextextended('davit mails ' || $1::text, 0))`);

/** Numbers of mails, and the seconds until the first of them no longer counts. */
export interface MailCounts {
  readonly recipient: number;
  readonly recipient_seconds: number | null;
  readonly organization: number;
  readonly organization_seconds: number | null;
  readonly newcomers: number;
  readonly newcomers_seconds: number | null;
}

/**
 * Returns the invitations to a recipient ($1) within a day, and those of an organization ($2) within an hour. If it is
 * less than a day old, also those of all organizations of that age, or deleted ones, within an hour. Needs the lock of
 * `mailsLock`.
 */
export const invitationsCount = statement<MailCounts>(
  'mail_invitations_count',
  `with established as (select id from organization where created_at < clock_timestamp() - interval '1 day'),
   recent as (
     select recipient = $1::text as same, organization_id is not distinct from $2::uuid as own,
            created_at > clock_timestamp() - interval '1 hour' as hour,
            organization_id not in (select id from established) and $2::uuid not in (select id from established) as new,
            ceil(extract(epoch from created_at - clock_timestamp()))::int as at
       from mail where kind = 'INVITATION' and created_at > clock_timestamp() - interval '1 day'
   )
   select count(*) filter (where same)::int as recipient, 86400 + min(at) filter (where same) as recipient_seconds,
          count(*) filter (where own and hour)::int as organization, 3600 + min(at) filter (where own and hour) as organization_seconds,
          count(*) filter (where new and hour)::int as newcomers, 3600 + min(at) filter (where new and hour) as newcomers_seconds
     from recent`,
);

/**
 * Creates a mail ($2 kind, $3 recipient), unless $5 mails of the kind were requested for this recipient, or $6 for all
 * accounts, in an hour. Invented addresses do not count. Needs the lock of `mailsLock`.
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
  readonly organization_id: string | null;
  readonly sealed: Buffer | null;
  readonly attempts: number;
  readonly is_expired: boolean;
}

/** Takes a mail that is due. If this process dies before the mail is sent, the mail is due again after `$1` seconds. */
export const mailTake = statement<MailRow>(
  'mail_take',
  `update mail set attempts = attempts + 1, due_at = clock_timestamp() + make_interval(secs => $1)
    where id = (select id from mail where due_at <= clock_timestamp() order by due_at limit 1 for update skip locked)
   returning id, kind, recipient, organization_id, sealed, attempts, expires_at < clock_timestamp() as is_expired`,
);

export const mailWrite = statement('mail_write', 'update mail set sealed = $2 where id = $1 and due_at is not null');

export const mailAgain = statement(
  'mail_again',
  'update mail set due_at = clock_timestamp() + make_interval(secs => $2) where id = $1',
);

/**
 * Parameters: id, kind, recipient, organization. Records that a mail was sent or given up. The record stays when the
 * invitation is deleted, also while the mail is being sent: it counts.
 */
export const mailEnd = statement(
  'mail_end',
  `insert into mail (id, kind, recipient, organization_id, due_at, expires_at) values ($1, $2, $3, $4, null, clock_timestamp())
   on conflict (id) do update set due_at = null, sealed = null, invitation_id = null`,
);

export const mailsTrim = statement(
  'mails_trim',
  `delete from mail where due_at is null and created_at < clock_timestamp() - interval '1 day'`,
);
