. /davit/connect.sh
await_backup
redis-check-rdb "$backup/dump.rdb" > /tmp/check || { cat /tmp/check >&2; exit 65; }
serve_backup
compare at_own
