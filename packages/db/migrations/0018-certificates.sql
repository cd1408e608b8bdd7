-- Custom domains: which are proven to be their organization's, and certificates.

-- One organization has a host once; of several that say it is theirs, it is the first's who proved it. What there is was given out
-- when the first who asked had it.
alter table custom_domain add column proven_at timestamptz default clock_timestamp();
alter table custom_domain alter column proven_at drop default;
drop index custom_domain_host;
create unique index custom_domain_host on custom_domain (host) where proven_at is not null;
create unique index custom_domain_host_of_organization on custom_domain (organization_id, host);
create index custom_domain_unproven on custom_domain (created_at) where proven_at is null;

-- Who makes certificates. directory: address of an ACME server, with the account there; '': the installation's own authority.
-- sealed: the private key of the account or of the authority. certificate: the authority's own, in PEM.
create table certificate_authority (
  id uuid primary key,
  directory text not null unique,
  sealed bytea not null,
  certificate text,
  account_url text,
  created_at timestamptz not null default clock_timestamp()
);

-- One for each host that shall have one. sealed: private key, certificate and those above it, in PEM; null until the first is
-- there. due_at: when something is to be done about it. attempts: how often the authority failed in a row; checks: how often DNS was
-- found wrong in a row. order_url, order_sealed: an order under way and the private key for it.
create table certificate (
  id uuid primary key default gen_random_uuid(),
  host text not null unique,
  sealed bytea,
  directory text,
  not_before timestamptz,
  not_after timestamptz,
  due_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  checks integer not null default 0,
  failure jsonb,
  order_url text,
  order_sealed bytea
);
create index certificate_due on certificate (due_at);

-- What gateways answer to an authority.
create table http_challenge (
  host text not null,
  token text not null,
  answer text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (host, token)
);

-- Gateways and whoever makes certificates look again. Several changes of a transaction are one notification.
create function notify_domains() returns trigger language plpgsql as $$
begin
  perform pg_notify('davit_domains', '');
  return null;
end
$$;
create trigger notify_domains after insert or update or delete on custom_domain for each row execute function notify_domains();
create trigger notify_domains after insert or update or delete on certificate for each row execute function notify_domains();
create trigger notify_domains after insert or update or delete on http_challenge for each row execute function notify_domains();
