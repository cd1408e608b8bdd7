-- Pushes to repositories that Davit keeps, from just before the branch changes until its deployment is requested. A process
-- that dies in between leaves the row, and another one requests the deployment.
create table git_push (
  id uuid primary key default gen_random_uuid(),
  service_id uuid not null references service on delete cascade,
  commit_id text not null,
  -- The caller that pushed, in whose name the deployment is requested.
  actor text not null,
  name text not null,
  origin text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index git_push_service on git_push (service_id);
