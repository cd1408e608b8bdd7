-- Mails to send. A mail that was sent or given up stays for a day without its text, so that mails are counted.
create table mail (
  id uuid primary key,
  kind text not null check (kind in ('INVITATION', 'PASSWORD')),
  recipient text not null,
  -- Subject and text with a link, sealed by the vault with the id. null: not written yet, or done.
  sealed bytea,
  -- A mail about an invitation goes with it.
  invitation_id uuid references invitation (id) on update cascade on delete cascade,
  attempts integer not null default 0,
  -- null: sent, given up, or to nobody.
  due_at timestamptz default clock_timestamp(),
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp()
);
create index mail_due on mail (due_at) where due_at is not null;
create index mail_invitation on mail (invitation_id);
create index mail_recent on mail (kind, created_at);
