-- Cron jobs whose schedule is armed, with the time at which each is due.
create table job_schedule (
  service_id uuid primary key,
  next_at timestamptz not null
);
create index job_schedule_next on job_schedule (next_at);

-- Runs that a schedule has begun. The id is the rollout of their instances on the cluster, by which they are found again.
create table job_run (
  id uuid primary key,
  service_id uuid not null,
  release_id uuid not null,
  due_at timestamptz not null,
  launched_at timestamptz,
  status text not null default 'RUNNING' check (status in ('RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED')),
  failure jsonb,
  finished_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
);
-- No two runs of a job at a time, whoever begins them.
create unique index job_run_running on job_run (service_id) where status = 'RUNNING';
create index job_run_service on job_run (service_id, created_at desc);

-- Variables that a job's run has told, and their aliases; they go with the job.
alter table variable add column output_of uuid references service (id) on delete cascade;
create index variable_output on variable (output_of) where output_of is not null;
