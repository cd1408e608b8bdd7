# The database copies a server that has the backup, as a replica does: it keeps what it has until all of the copy has arrived.
. /davit/connect.sh
# At once, as it refuses writes while an attempt before this one has left it a replica, and the backup takes its time to arrive.
(patiently detached) || true
await_backup
serve_backup
compare at_own
patiently detached
trap 'patiently detached' EXIT
# In this order: whatever of it was done, it is found again by whom it copies.
echo "replicaof $DAVIT_BENCH_HOST 6399" | told at_database
echo "config set masterauth $DAVIT_PASSWORD" | told at_database
until [ "$(at_database info replication | tr -d '\r' | sed -n 's/^master_link_status://p')" = up ]; do
  kill -0 "$server"
  sleep 0.2
done
trap - EXIT
patiently detached
compare at_database
