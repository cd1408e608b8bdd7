-- Passkeys of local accounts (WebAuthn).
create table passkey (
  id uuid primary key,
  person_id uuid not null references local_account (person_id) on delete cascade,
  name text not null,
  credential_id text not null unique,
  -- In COSE form. Nobody can sign with it.
  public_key bytea not null,
  -- How often the passkey was used, as its holder counts. 0: it does not count. A smaller number is that of a copy.
  counter bigint not null,
  is_synced boolean not null,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz
);
create index passkey_person on passkey (person_id, created_at, id);
