-- Refused sign-ins, for an address with or without an account: the background moves them to the audit logs of the person's
-- organizations. A request that did this itself would take longer for an address with an account.
create table refused_sign_in (
  id uuid primary key default gen_random_uuid(),
  email text not null,
  operation text not null,
  address text not null,
  user_agent text,
  created_at timestamptz not null default clock_timestamp()
);
