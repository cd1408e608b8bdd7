-- Accounts at cloud vendors. fields: what may be shown; sealed: the secrets among them, encrypted, as one JSON text.
create table cloud_credentials (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  provider text not null,
  object_type text not null,
  name text not null,
  fields jsonb not null default '{}',
  sealed bytea,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index cloud_credentials_name on cloud_credentials (organization_id, provider, lower(name));

-- Clusters beside this machine's container engine. spec: sizes, keys and features as they were asked for. No action instead of
-- restrict: an organization that is deleted takes both along in one statement.
alter table cluster
  add column kubernetes text not null default 'SELF_MANAGED',
  add column spec jsonb not null default '{}',
  add column routes jsonb not null default '[]',
  add column credentials_id uuid references cloud_credentials (id),
  add column kubeconfig_sealed bytea;
create index cluster_credentials on cluster (credentials_id) where credentials_id is not null;

-- expires_at null: until somebody unlocks. A lock whose time is over is none; it stays until the next one replaces it.
create table cluster_lock (
  cluster_id uuid primary key references cluster (id) on delete cascade,
  reason text not null,
  ttl_in_days integer,
  owner_name text not null,
  locked_at timestamptz not null,
  expires_at timestamptz
);

-- What happened at the deployments of a cluster. error: {tag, hint} where it failed.
create table cluster_log (
  id bigint generated always as identity primary key,
  cluster_id uuid not null references cluster (id) on delete cascade,
  step text not null,
  message text not null,
  error jsonb,
  at timestamptz not null default clock_timestamp()
);
create index cluster_log_cluster on cluster_log (cluster_id, id desc);
