-- Resources. Names are unique in their parent ignoring case; `created_at` orders lists, oldest first.
-- clock_timestamp() rather than now(): rows of one transaction keep their order.

create table organization (
  id uuid primary key,
  name text not null,
  plan text not null,
  description text,
  website_url text,
  repository text,
  logo_url text,
  icon_url text,
  admin_emails text[] not null default '{}',
  owner_id uuid not null,
  billing_deployment_restriction text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index organization_name on organization (lower(name));

-- organization_id null: an instance-wide token.
create table api_token (
  id uuid primary key,
  organization_id uuid references organization (id) on delete cascade,
  name text not null,
  description text not null default '',
  scope text not null check (scope in ('READ', 'DEPLOY', 'WRITE', 'ADMIN')),
  token_hash bytea not null unique,
  expires_at timestamptz,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index api_token_name on api_token (organization_id, lower(name));

create table git_token (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  description text not null default '',
  type text not null,
  workspace text,
  git_api_url text,
  sealed bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index git_token_name on git_token (organization_id, lower(name));

create table cluster (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  description text not null default '',
  region text not null,
  cloud_provider text not null,
  driver text not null,
  is_default boolean not null default false,
  is_demo boolean not null default false,
  production boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index cluster_name on cluster (organization_id, lower(name));
create unique index cluster_default on cluster (organization_id) where is_default;

create table project (
  id uuid primary key,
  organization_id uuid not null references organization (id),
  name text not null,
  description text not null default '',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index project_name on project (organization_id, lower(name));
create index project_list on project (organization_id, created_at, id);

-- deleting: a DELETE was accepted, nothing more may be added.
create table environment (
  id uuid primary key,
  organization_id uuid not null references organization (id),
  project_id uuid not null references project (id),
  cluster_id uuid not null references cluster (id),
  name text not null,
  mode text not null,
  auto_preview boolean not null default false,
  deleting boolean not null default false,
  last_updated_by uuid,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index environment_name on environment (project_id, lower(name));
create index environment_list on environment (project_id, created_at, id);
create index environment_cluster on environment (cluster_id);

create table deployment_stage (
  id uuid primary key,
  organization_id uuid not null references organization (id),
  environment_id uuid not null references environment (id) on delete cascade,
  name text not null,
  description text not null default '',
  position integer not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (environment_id, position) deferrable initially deferred
);
create unique index deployment_stage_name on deployment_stage (environment_id, lower(name));

-- spec: what a user can set, in the contract's words and with defaults applied; one column, as it differs by type.
create table service (
  id uuid primary key,
  -- Both as the environment has them, which refers to them: a second check would cost each insert two more.
  organization_id uuid not null,
  project_id uuid not null,
  environment_id uuid not null references environment (id) on delete cascade,
  stage_id uuid not null references deployment_stage (id),
  stage_entry_id uuid not null,
  stage_entered_at timestamptz not null default clock_timestamp(),
  is_skipped boolean not null default false,
  type text not null,
  name text not null,
  spec jsonb not null,
  -- Kind of the environment's cluster. Neither ever changes.
  driver text not null,
  deleting boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create unique index service_name on service (environment_id, lower(name));
create index service_list on service (environment_id, created_at, id);
create index service_stage on service (stage_id);

-- Ports of this machine that services want for themselves (public TCP and UDP ports): each belongs to one service.
create table host_port (
  driver text not null,
  transport text not null check (transport in ('TCP', 'UDP')),
  port integer not null,
  service_id uuid not null references service (id) on delete cascade,
  primary key (driver, transport, port)
);
create index host_port_service on host_port (service_id);

-- One version of a secret's value, encrypted. Never changed: an edit makes a new one, so that releases keep what they named.
-- service_id: what it goes with when that is deleted. reference_keys: the keys that its text names as {{KEY}}, so that a status
-- can be computed without decrypting anything.
create table secret_value (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  service_id uuid references service (id) on delete cascade,
  sealed bytea not null,
  reference_keys text[] not null default '{}',
  created_at timestamptz not null default clock_timestamp()
);
create index secret_value_service on secret_value (service_id);

-- target_id: what an alias or override points at; target_builtin: the same for built-in variables, which are computed and have no
-- row: their key without the prefix. Exactly one of the three parents is set.
create table variable (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  project_id uuid references project (id) on delete cascade,
  environment_id uuid references environment (id) on delete cascade,
  service_id uuid references service (id) on delete cascade,
  key text not null,
  type text not null check (type in ('VALUE', 'FILE', 'ALIAS', 'OVERRIDE')),
  is_secret boolean not null,
  value text,
  secret_value_id uuid references secret_value (id),
  target_id uuid references variable (id) on delete cascade,
  target_builtin text,
  mount_path text,
  description text,
  enable_interpolation_in_file boolean,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  check (num_nonnulls(project_id, environment_id, service_id) = 1)
);
create unique index variable_key on variable ((coalesce(service_id, environment_id, project_id)), key);
create index variable_target on variable (target_id);
create index variable_project on variable (project_id) where project_id is not null;
create index variable_environment on variable (environment_id) where environment_id is not null;

-- The engine. It reads these tables and no resource table.

-- What was asked to run: complete and immutable, but for the commit and image, which are filled in once, by the build.
create table release (
  id uuid primary key,
  organization_id uuid not null,
  environment_id uuid not null,
  service_id uuid not null,
  config jsonb not null,
  config_hash text not null,
  commit jsonb,
  image_name text,
  image_id text,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index release_service on release (service_id, created_at);

-- A request and, once it started, the deployment. actor: who may have further services merged in.
create table deployment (
  id uuid primary key,
  organization_id uuid not null,
  project_id uuid not null,
  environment_id uuid not null,
  cluster_id uuid not null,
  driver text not null,
  sequence bigint generated always as identity,
  execution_number integer,
  action text not null check (action in ('DEPLOY', 'RESTART', 'STOP', 'DELETE', 'UNINSTALL')),
  whole_environment boolean not null default false,
  origin text not null,
  triggered_by text not null,
  actor text not null,
  status text not null default 'QUEUED' check (status in ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED', 'WITHDRAWN')),
  cancel_requested_at timestamptz,
  cancel_force boolean not null default false,
  runner_id uuid,
  fence integer not null default 0,
  lease_until timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  finished_at timestamptz
);
-- One at a time in an environment.
create unique index deployment_running on deployment (environment_id) where status = 'RUNNING';
create index deployment_queue on deployment (environment_id, sequence) where status = 'QUEUED';
create index deployment_history on deployment (environment_id, sequence desc);
create index deployment_open on deployment (sequence) where status in ('QUEUED', 'RUNNING');

-- phase: see engine/states.ts. Names and stage are copied: the history outlives its service.
create table deployment_service (
  deployment_id uuid not null references deployment (id) on delete cascade,
  service_id uuid not null,
  service_type text not null,
  service_name text not null,
  icon_uri text not null,
  release_id uuid,
  rollout uuid not null,
  stage_id uuid,
  stage_name text not null,
  stage_position integer not null,
  phase text not null default 'QUEUED',
  failure jsonb,
  started_at timestamptz,
  finished_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  primary key (deployment_id, service_id)
);
create index deployment_service_history on deployment_service (service_id, created_at desc);

-- The journal: one row a step. A step that is RUNNING when its runner dies is done again; steps are idempotent.
create table deployment_step (
  deployment_id uuid not null references deployment (id) on delete cascade,
  service_id uuid not null,
  position integer not null,
  name text not null,
  metric text not null,
  status text not null default 'PENDING' check (status in ('PENDING', 'RUNNING', 'DONE', 'SKIPPED', 'FAILED', 'CANCELED')),
  attempt integer not null default 0,
  output jsonb,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (deployment_id, service_id, position)
);

-- What should run now. The keeper compares it with what does.
create table service_runtime (
  service_id uuid primary key,
  organization_id uuid not null,
  project_id uuid not null,
  environment_id uuid not null,
  driver text not null,
  desired text not null check (desired in ('RUNNING', 'STOPPED', 'NONE')),
  release_id uuid,
  rollout uuid,
  config_hash text,
  -- The release's, so that a service's record is read without it.
  commit jsonb,
  running_status text,
  last_deployment_at timestamptz,
  updated_at timestamptz not null default clock_timestamp()
);
create index service_runtime_environment on service_runtime (environment_id);
create index service_runtime_running on service_runtime (driver) where desired = 'RUNNING';

-- A process that runs deployments. Alive while its session lock is held; see engine/run/runner.ts.
create table runner (
  id uuid primary key,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp()
);

-- Redacted before they come here.
create table deployment_log (
  id bigint generated always as identity primary key,
  deployment_id uuid not null references deployment (id) on delete cascade,
  service_id uuid,
  step text not null,
  level text not null,
  message text not null,
  error jsonb,
  at timestamptz not null default clock_timestamp()
);
create index deployment_log_deployment on deployment_log (deployment_id, id);

-- source_at: the engine's own timestamp as text, with all its digits: it is where following goes on.
create table service_log (
  id bigint generated always as identity primary key,
  entry_id uuid not null default gen_random_uuid(),
  service_id uuid not null,
  release_id uuid,
  instance_id text not null,
  instance_name text not null,
  stream text not null,
  message text not null,
  source_at text not null,
  at timestamptz not null
);
create index service_log_service on service_log (service_id, id desc);
create index service_log_instance on service_log (instance_id, id desc);

-- One row: who this installation is, for labels on a cluster's objects.
create table installation (
  singleton boolean primary key default true check (singleton),
  id uuid not null default gen_random_uuid(),
  created_at timestamptz not null default clock_timestamp()
);
insert into installation default values;
