-- Older lines of services, in blocks. The newest lines are in service_log (adr/0038).
-- frames: an array of [lines, bytes of messages, bytes of details, first number, last number, first time, last time (ms)], in order. Each frame is
-- compressed separately, so that a search decompresses only what it needs. grams: which sequences of four bytes occur in which frames, see
-- engine/src/log-archive/grams.ts. stored_bytes: bytes of the three together.
create table log_segment (
  service_id uuid not null,
  first_number bigint not null,
  last_number bigint not null,
  from_at timestamptz not null,
  to_at timestamptz not null,
  lines integer not null,
  instances text[] not null,
  releases uuid[] not null,
  frames jsonb not null,
  stored_bytes integer not null,
  gram_bytes smallint not null,
  messages bytea not null,
  details bytea not null,
  grams bytea not null,
  primary key (service_id, last_number)
);
-- PostgreSQL then does not compress what is compressed, and reads a part of grams without reading the rest.
alter table log_segment alter column messages set storage external, alter column details set storage external, alter column grams set storage external;
create index log_segment_to on log_segment (to_at);
