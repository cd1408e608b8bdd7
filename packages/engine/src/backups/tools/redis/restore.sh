# The database copies a server that has the backup, as a replica does: it keeps what it has until all of the copy has arrived.
. /davit/connect.sh
await_backup
serve_backup
compare at_own
patiently answers at_database
alone() {
  echo 'replicaof no one' | at_database >/dev/null
  echo 'config set masterauth ""' | at_database >/dev/null
}
trap alone EXIT
echo "config set masterauth $DAVIT_PASSWORD" | told at_database
echo "replicaof $DAVIT_BENCH_HOST 6399" | told at_database
until [ "$(at_database info replication | tr -d '\r' | sed -n 's/^master_link_status://p')" = up ]; do
  kill -0 "$server"
  sleep 0.2
done
trap - EXIT
alone
compare at_database
