-- People who sign in with an e-mail address and a password, without an issuer. The person has the issuer `davit-local`.
create table local_account (
  person_id uuid primary key references person (id) on delete cascade,
  -- With A to Z in lower case.
  email text not null unique,
  -- argon2id, in the PHC string format.
  password_hash text not null,
  password_changed_at timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default clock_timestamp()
);

-- A session of a browser has a token in a cookie; a session without token_hash is a JWT of an hour.
alter table session add column token_hash bytea unique;
alter table session add column last_used_at timestamptz not null default clock_timestamp();
alter table session add column user_agent text;
alter table session add column address text;

-- Links that are used once. Only the hash of the token in the link is stored.
create table one_time_link (
  id uuid primary key,
  kind text not null check (kind in ('FIRST_RUN', 'INVITATION', 'PASSWORD')),
  token_hash bytea not null unique,
  person_id uuid references person (id) on delete cascade,
  invitation_id uuid references invitation (id) on update cascade on delete cascade,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp()
);
create index one_time_link_person on one_time_link (person_id);
create index one_time_link_invitation on one_time_link (invitation_id);

-- Attempts to sign in, by account and by address of the client. Shared by all processes. No attempt is made before free_at.
create table sign_in_attempt (
  key bytea primary key,
  count integer not null,
  last_at timestamptz not null,
  free_at timestamptz not null
);
create index sign_in_attempt_age on sign_in_attempt (last_at);
