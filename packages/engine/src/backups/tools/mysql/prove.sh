. /davit/connect.sh
. /davit/compare.sh
await_backup
docker-entrypoint.sh "$(basename "$(first_of mariadbd mysqld)")" --bind-address=127.0.0.1 --port=3306 > /tmp/server.log 2>&1 &
speak_with 127.0.0.1 3306
await_server $! ask -e 'select 1'
ask < "$backup/dump.sql"
compare
