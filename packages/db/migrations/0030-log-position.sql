-- Where following the output of an instance goes on (source_at, as in service_log) when none of its lines is left there: the number of
-- lines is bounded for all instances of a service together, so that a chatty one pushes out what a quiet one printed. followed_at: when
-- somebody last followed it. Instances come and go; what nobody has followed for weeks is gone, and its row goes too.
create table log_position (
  instance_id text primary key,
  service_id uuid not null,
  source_at text not null,
  followed_at timestamptz not null default clock_timestamp()
);
create index log_position_service on log_position (service_id);
