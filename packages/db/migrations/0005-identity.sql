-- People, their membership in organizations, and roles.

-- One for each issuer and subject: an e-mail address names nobody, as issuers give it to another person one day.
create table person (
  id uuid primary key,
  issuer text not null,
  subject text not null,
  -- As the issuer told it last. Only a verified one means anything.
  email text,
  email_verified boolean not null default false,
  name text,
  nickname text,
  first_name text,
  last_name text,
  picture_url text,
  communication_email text,
  last_activity_at timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (issuer, subject)
);

create table custom_role (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  description text not null default '',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organization_id, id)
);
create unique index custom_role_name on custom_role (organization_id, lower(name));

-- What is not here has the least: VIEWER on a cluster, NO_ACCESS in a project.
create table custom_role_cluster (
  custom_role_id uuid not null references custom_role (id) on delete cascade,
  cluster_id uuid not null references cluster (id) on delete cascade,
  permission text not null check (permission in ('VIEWER', 'ENV_CREATOR', 'ADMIN')),
  primary key (custom_role_id, cluster_id)
);
create index custom_role_cluster_cluster on custom_role_cluster (cluster_id);

-- permissions: by mode of environment.
create table custom_role_project (
  custom_role_id uuid not null references custom_role (id) on delete cascade,
  project_id uuid not null references project (id) on delete cascade,
  is_admin boolean not null default false,
  permissions jsonb not null default '{}',
  primary key (custom_role_id, project_id)
);
create index custom_role_project_project on custom_role_project (project_id);

-- Exactly one of role and custom_role_id. The owner has a row like all others; that he is it says organization.owner_id alone.
create table membership (
  organization_id uuid not null references organization (id) on delete cascade,
  person_id uuid not null references person (id) on delete cascade,
  role text check (role in ('ADMIN', 'DEVOPS', 'BILLING_MANAGER', 'VIEWER')),
  custom_role_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (organization_id, person_id),
  foreign key (organization_id, custom_role_id) references custom_role (organization_id, id),
  check (num_nonnulls(role, custom_role_id) = 1)
);
create index membership_person on membership (person_id);
create index membership_role on membership (custom_role_id) where custom_role_id is not null;

create table invitation (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  -- With A to Z in lower case.
  email text not null,
  role text check (role in ('ADMIN', 'DEVOPS', 'BILLING_MANAGER', 'VIEWER')),
  custom_role_id uuid,
  inviter text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  foreign key (organization_id, custom_role_id) references custom_role (organization_id, id),
  check (num_nonnulls(role, custom_role_id) = 1)
);
create unique index invitation_email on invitation (organization_id, email);
create index invitation_role on invitation (custom_role_id) where custom_role_id is not null;

-- Signed in at the console: what a session token of an hour refers to, so that it can be ended before.
create table session (
  id uuid primary key,
  person_id uuid not null references person (id) on delete cascade,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp()
);
create index session_person on session (person_id);
create index session_expiry on session (expires_at);

-- The key that session tokens are signed with, sealed by the vault.
alter table installation add column session_key bytea;

-- A token has a scope, or the rights of a role.
alter table api_token alter column scope drop not null;
alter table api_token add column role text check (role in ('OWNER', 'ADMIN', 'DEVOPS', 'BILLING_MANAGER', 'VIEWER'));
alter table api_token add column custom_role_id uuid;
alter table api_token add foreign key (organization_id, custom_role_id) references custom_role (organization_id, id);
alter table api_token add check (num_nonnulls(scope, role, custom_role_id) = 1);
create index api_token_role on api_token (custom_role_id) where custom_role_id is not null;
