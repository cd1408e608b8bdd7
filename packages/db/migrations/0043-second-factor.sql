-- Second factors of local accounts: codes of an application (TOTP), and recovery codes.
create table second_factor (
  person_id uuid primary key references local_account (person_id) on delete cascade,
  -- The shared secret, sealed by the vault with the person's id.
  sealed bytea not null,
  -- null: the person has not proved yet that the application has the secret.
  confirmed_at timestamptz,
  -- The time step of the last accepted code. A code is accepted once.
  last_step bigint not null default 0,
  created_at timestamptz not null default clock_timestamp()
);

create table recovery_code (
  person_id uuid not null references second_factor (person_id) on delete cascade,
  code_hash bytea not null,
  primary key (person_id, code_hash)
);
