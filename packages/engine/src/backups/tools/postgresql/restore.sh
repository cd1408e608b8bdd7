# Builds the databases of the backup beside those that are there, compares them, and changes their names in one statement of the
# server: whenever this is killed, the names lead to all that there was or to all that the backup has. Roles that are missing are made,
# those that are there stay as they are.
. /davit/connect.sh
. /davit/leftovers.sh
await_backup
speak_with "$DAVIT_HOST" "$DAVIT_PORT"
# By this whoever comes next knows the statements that go on without this script.
export PGAPPNAME='davit restore' PGDATABASE=template1
patiently ask -c 'select 1'
tidy
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
select format('alter database %I rename to %I \;', :'new', :'name');
SQL
done

# All of it is sent at once, which makes it one transaction that the server does or does not do whatever becomes of this script: nothing
# is closed meanwhile that somebody would have to open again. A name cannot be changed while somebody is connected: who is there is sent
# away, and as changing a name takes a lock, who comes then waits for the end of it. One in between makes it fail, and it is done again.
{
  echo "set local lock_timeout = '10s' \;"
  ask <<'SQL'
select format('select pg_stat_clear_snapshot() \; select count(pg_terminate_backend(pid)) from pg_stat_activity where datid = %s \; '
                'alter database %I rename to davit_former_%s \;', oid, datname, oid)
  from pg_database where not datistemplate and datname !~ '^davit_restore_[0-9]+$'
SQL
  cat /tmp/names.sql
  # Each by itself: what belongs to a role that is not there is left out, as it is when nothing else depends on it.
  sed 's/.*/do $davit_do$ begin execute $davit_line$&$davit_line$; exception when others then raise warning $davit_text$%$davit_text$, sqlerrm; end $davit_do$ \\;/' \
    /tmp/properties.sql
  echo 'select 1;'
} > /tmp/swap.sql
swap() {
  # The answer to what was done may have been lost.
  alone && aside=$(formers) || return 1
  [ -n "$aside" ] || ask -f /tmp/swap.sql
}
patiently swap
# Whoever had left by himself before he could be sent away is nothing to warn of.
grep WARNING /tmp/attempt | grep -v 'is not a PostgreSQL' >&2 || true
# From here on the restore has succeeded; what stays of the former databases is removed by the next one.
(patiently discard) || echo 'the former databases could not be removed' >&2
