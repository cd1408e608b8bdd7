-- One database: its census and its dump see the same moment, whatever is written meanwhile.
\set ON_ERROR_STOP on
begin transaction isolation level repeatable read;
select pg_export_snapshot() as davit_snapshot \gset
\setenv DAVIT_SNAPSHOT :davit_snapshot
\o `echo "$DAVIT_FILE.census"`
\i /davit/census.sql
\o
\! pg_dump --format=custom --snapshot="$DAVIT_SNAPSHOT" --file="$DAVIT_FILE.dump" || touch /tmp/failed
commit;
