-- How often each process has counted a key of the rate limit in a minute (since 1970, by this server's clock), so that the limit holds for all
-- processes together: see adr/0028. key: the begin of the SHA-256 of a caller's id or address. process: a number of its own for each start.
-- Unlogged: it is written each second and forgotten after a minute; after a crash of this server it is empty, and counting goes on.
create unlogged table rate_count (
  minute bigint not null,
  key bytea not null,
  process uuid not null,
  count integer not null,
  primary key (minute, key, process)
) with (fillfactor = 50);
