-- When an environment runs: with auto_stop it is started and stopped at these times of day, in that time zone, on those days of
-- the week. Of the two times only the time of day counts. An environment without a row was never given a rule. next_at: of what
-- is due next; null where that is still to be found out.
create table environment_rule (
  environment_id uuid primary key references environment (id) on delete cascade,
  id uuid not null generated always as (environment_id) stored,
  on_demand_preview boolean not null default false,
  auto_stop boolean not null default false,
  timezone text not null,
  start_time timestamptz not null,
  stop_time timestamptz not null,
  weekdays text[] not null,
  next_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index environment_rule_due on environment_rule (next_at) where auto_stop;

-- What new environments of a project get as their rule: the first by position that fits their mode, cluster and name.
-- name_pattern: the wildcard for LIKE, against a name in lower case.
create table project_rule (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  project_id uuid not null references project (id) on delete cascade,
  cluster_id uuid not null references cluster (id) on delete cascade,
  name text not null,
  description text,
  mode text not null,
  auto_stop boolean not null default false,
  timezone text not null,
  start_time timestamptz not null,
  stop_time timestamptz not null,
  weekdays text[] not null,
  wildcard text not null default '',
  name_pattern text not null generated always as (
    case when wildcard = '' then '%'
         else replace(replace(replace(replace(lower(wildcard), '\', '\\'), '%', '\%'), '_', '\_'), '*', '%') end) stored,
  position integer not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (project_id, position) deferrable initially deferred
);
create unique index project_rule_name on project_rule (project_id, lower(name));
create index project_rule_cluster on project_rule (cluster_id);

-- Which changed paths of a repository start a deployment of a service by themselves.
create table deployment_restriction (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  service_id uuid not null references service (id) on delete cascade,
  mode text not null check (mode in ('EXCLUDE', 'MATCH')),
  type text not null check (type in ('PATH')),
  value text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint deployment_restriction_once unique (service_id, mode, type, value)
);
