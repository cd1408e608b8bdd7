# Builds the databases of the backup beside those that are there, compares them, and changes their names in one transaction. What
# fails before that has changed nothing; roles that are missing are made, those that are there stay as they are.
. /davit/connect.sh
await_backup
speak_with "$DAVIT_HOST" "$DAVIT_PORT"
patiently ask -c 'select 1'
PGDATABASE=template1
ask <<'SQL'
select format('drop database %I', datname) from pg_database where datname ~ '^davit_(restore|former)_'
\gexec
SQL
psql -Xq -f "$backup/roles.sql" >/tmp/roles.log 2>&1
grep -v 'already exists' /tmp/roles.log >&2 || true

: > /tmp/names.sql
: > /tmp/properties.sql
for number in $(numbers); do
  file=$backup/$number.dump
  new=davit_restore_$number
  pg_restore --create --list "$file" | grep -E '^[0-9]+; [0-9]+ [0-9]+ (DATABASE|DATABASE PROPERTIES|ACL - DATABASE) ' > /tmp/list
  pg_restore --create --use-list=/tmp/list --file=/tmp/database.sql "$file"
  sed -n "s/^CREATE DATABASE .* WITH TEMPLATE = /CREATE DATABASE $new WITH TEMPLATE = /p" /tmp/database.sql | ask
  grep -E '^(ALTER DATABASE|ALTER ROLE .* IN DATABASE|GRANT|REVOKE) ' /tmp/database.sql >> /tmp/properties.sql || true
  pg_restore --exit-on-error --dbname="$new" "$file"
  PGDATABASE=$new ask -f /davit/census.sql > "/tmp/$number.census"
  same "$backup/$number.census" "/tmp/$number.census"
  ask -v new="$new" -v name="$(cat "$backup/$number.name")" >> /tmp/names.sql <<'SQL'
select format('alter database %I rename to %I;', :'new', :'name');
SQL
done

# Nobody comes in from here on: a name cannot be changed while somebody is connected.
ask <<'SQL'
select format('alter database %I allow_connections false', datname) from pg_database
 where not datistemplate and datname !~ '^davit_restore_'
\gexec
SQL
reopen() {
  ask <<'SQL' || true
select format('alter database %I allow_connections true', datname) from pg_database where not datistemplate and not datallowconn
\gexec
SQL
}
trap reopen EXIT
{
  echo 'begin;'
  ask -c "select format('alter database %I rename to %I;', datname, 'davit_former_' || oid) from pg_database
           where not datistemplate and datname !~ '^davit_restore_'"
  cat /tmp/names.sql
  echo 'commit;'
} > /tmp/swap.sql
swap() {
  ask -c "select pg_terminate_backend(a.pid) from pg_stat_activity a join pg_database d on d.oid = a.datid
           where not d.datistemplate and a.pid <> pg_backend_pid()" &&
    ask -f /tmp/swap.sql
}
patiently swap
trap - EXIT
ask <<'SQL'
select format('drop database %I', datname) from pg_database where datname ~ '^davit_former_'
\gexec
SQL
psql -Xq -f /tmp/properties.sql >/tmp/properties.log 2>&1 || cat /tmp/properties.log >&2
