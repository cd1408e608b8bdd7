-- Where following goes on for each of those that print as one instance at a time (origin, of Kubernetes the uid of a pod): the cluster makes a
-- new one while the one before still ends, on a node with another clock. source_at: of the last line that was stored of it, as in service_log.
-- followed_at: when somebody last followed the instance. Of lines whose origin is not noted, as by programs that do not know this table, the last
-- one in service_log or log_position counts for all.
create table log_origin (
  instance_id text not null,
  origin text not null,
  service_id uuid not null,
  release_id uuid,
  source_at text not null,
  followed_at timestamptz not null default clock_timestamp(),
  primary key (instance_id, origin)
);
create index log_origin_service on log_origin (service_id);
