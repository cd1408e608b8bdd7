. /davit/connect.sh
mkdir -p "$backup"
patiently detached
at_database --rdb "$backup/dump.rdb"
# Every part of the file has a checksum of its own, which this reads.
redis-check-rdb "$backup/dump.rdb" > /tmp/check || { cat /tmp/check >&2; exit 65; }
{
  at_database info server | tr -d '\r' | sed -n 's/^redis_version:/version /p'
  at_database info memory | tr -d '\r' | sed -n 's/^used_memory_dataset:/bytes /p'
  sed -n 's/^\[info\] \([0-9]*\) keys read$/keys \1/p; s/^\[info\] \([0-9]*\) expires$/expires \1/p' /tmp/check
} > "$backup/facts"
