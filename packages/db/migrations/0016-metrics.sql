-- Counts by class or bucket, added place by place.
create function added_counts(a bigint[], b bigint[]) returns bigint[] language sql immutable parallel safe as $$
  select case when a is null then b when b is null then a
         else (select array_agg(coalesce(x, 0) + coalesce(y, 0) order by n) from unnest(a, b) with ordinality as t (x, y, n)) end
$$;
create aggregate sum_counts(bigint[]) (sfunc = added_counts, stype = bigint[], parallel = safe);

-- What services used, minute by minute, and in five minutes once that is two hours ago; a day of it. Sums, so that rows of a
-- minute can be written in parts and added up. What is not known is null.
create table service_metric (
  service_id uuid not null,
  seconds smallint not null check (seconds in (60, 300)),
  at timestamptz not null,
  -- Passes, and how long processor time was measured, on average over instances.
  samples integer not null,
  measured_seconds double precision not null,
  instances_sum integer not null,
  instances_max integer not null,
  cpu_ms double precision not null,
  memory_sum double precision not null,
  memory_max double precision not null,
  received_bytes bigint not null,
  sent_bytes bigint not null,
  volume_bytes bigint,
  requests bigint not null,
  responses bigint[],
  latency bigint[],
  primary key (service_id, seconds, at)
);

-- The same since the service was first measured, for whoever reads counters; and how it was at the last pass.
create table service_metric_total (
  service_id uuid primary key,
  measured_at timestamptz not null,
  instances integer not null,
  memory_bytes double precision not null,
  volume_bytes bigint,
  cpu_ms double precision not null,
  received_bytes bigint not null,
  sent_bytes bigint not null,
  requests bigint not null,
  responses bigint[],
  latency bigint[]
);

-- How many instances a service should have, and how many it had when that was last true. Of those below the lesser number requests
-- are sent to; those below the greater exist. Different while instances are added or taken away. Null: what the release says.
alter table service_runtime add column instances integer, add column settled_instances integer,
  -- That run and are ready, as the keeper last saw them.
  add column running_instances integer;

-- Each change of the number of instances by itself, and why.
create table service_scaling (
  id bigint generated always as identity primary key,
  service_id uuid not null,
  at timestamptz not null default clock_timestamp(),
  from_instances integer not null,
  to_instances integer not null,
  reason text not null
);
create index service_scaling_service on service_scaling (service_id, id desc);
