-- Names of users' own under which a service answers. domain: as it was sent; host: the same as DNS has it, which one service of
-- the installation has, as all of them are served by one gateway.
create table custom_domain (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  service_id uuid not null references service (id) on delete cascade,
  domain text not null,
  host text not null,
  generate_certificate boolean not null,
  use_cdn boolean not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index custom_domain_host on custom_domain (host);
create index custom_domain_service on custom_domain (service_id);

select watch_table('custom_domain', 'PARENT', 'CUSTOM_DOMAIN');
