. /davit/connect.sh
await_backup
# Where the server of the image puts its socket; not every image has it.
mkdir -p /var/run/postgresql
chmod 1777 /var/run/postgresql
# The data of this server is thrown away, so nothing of it must reach the disk.
export POSTGRES_INITDB_ARGS="${POSTGRES_INITDB_ARGS:-} --no-sync"
docker-entrypoint.sh postgres -c listen_addresses=127.0.0.1 -c fsync=off -c full_page_writes=off > /tmp/server.log 2>&1 &
speak_with 127.0.0.1 5432
await_server $! ask -c 'select 1'

ask -f "$backup/roles.sql" >/dev/null
ask -f /davit/roles.sql > /tmp/roles.census
same "$backup/roles.census" /tmp/roles.census
for number in $(numbers); do
  pg_restore --clean --if-exists --create --exit-on-error --dbname=template1 "$backup/$number.dump"
  PGDATABASE=$(cat "$backup/$number.name") ask -f /davit/census.sql > "/tmp/$number.census"
  same "$backup/$number.census" "/tmp/$number.census"
done
