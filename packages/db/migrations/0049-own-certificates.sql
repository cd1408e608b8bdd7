-- Certificates of Davit's own name and of the addresses of services, beside those of custom domains.

-- DOMAIN: of a custom domain. INSTALLATION: of the host of the public URL, or the wildcard above the addresses of services.
-- ADDRESS: of one address of a service.
alter table certificate add column purpose text not null default 'DOMAIN'
  check (purpose in ('DOMAIN', 'INSTALLATION', 'ADDRESS'));

-- The first certificates of addresses, which authorities limit by the week. Rows are removed after that.
create table address_certificate_issue (
  id uuid primary key default gen_random_uuid(),
  host text not null,
  issued_at timestamptz not null default clock_timestamp()
);
create index address_certificate_issue_at on address_certificate_issue (issued_at);
