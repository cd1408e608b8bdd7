. /davit/connect.sh
mkdir -p "$backup"
speak_with "$DAVIT_HOST" "$DAVIT_PORT"
answers() { ask -c 'select 1' || { reopen; return 1; }; }
patiently answers
ask -c "select 'version ' || current_setting('server_version') union all
        select 'bytes ' || sum(pg_database_size(oid)) from pg_database" > "$backup/facts"

# All roles with their passwords, but for the administrator, who is another one where this is restored into another database.
pg_dumpall --roles-only --database="$PGDATABASE" > /tmp/roles.sql
grep -v -E "^(CREATE ROLE \"?$DAVIT_LOGIN\"?;|ALTER ROLE \"?$DAVIT_LOGIN\"? WITH )" /tmp/roles.sql > "$backup/roles.sql"
ask -f /davit/roles.sql > "$backup/roles.census"

for number in $(ask -c "select oid from pg_database where datallowconn and not datistemplate
                           and datname !~ '^davit_(restore|former)_[0-9]+$' order by oid"); do
  name=$(ask -c "select datname from pg_database where oid = $number")
  printf %s "$name" > "$backup/$number.name"
  PGDATABASE=$name DAVIT_FILE=$backup/$number ask -f /davit/dump.sql
  [ ! -e /tmp/failed ]
done
