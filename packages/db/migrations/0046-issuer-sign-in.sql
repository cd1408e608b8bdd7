-- What a browser began (a sign-in through an issuer, a passkey) is in a sealed cookie. The ids of those that were finished are here
-- until the cookie has expired, so that each is finished once.
create table used_sign_in_state (
  id uuid primary key,
  expires_at timestamptz not null
);
create index used_sign_in_state_age on used_sign_in_state (expires_at);
