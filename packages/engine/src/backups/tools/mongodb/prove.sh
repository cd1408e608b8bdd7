. /davit/connect.sh
. /davit/compare.sh
await_backup
# Not the usual port: that is where the image's own first start, which ends again, can be mistaken for the server.
docker-entrypoint.sh mongod --bind_ip 127.0.0.1 --port 27117 > /tmp/server.log 2>&1 &
speak_with 127.0.0.1 27117
await_server $! ask /tmp/davit/ping.js
tool mongorestore --archive="$backup/dump.archive" --nsExclude='admin.*' --nsExclude='config.*' --stopOnError
compare
