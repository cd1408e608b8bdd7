. /davit/connect.sh
mkdir -p "$backup"
speak_with "$DAVIT_HOST" "$DAVIT_PORT"
patiently ask /tmp/davit/ping.js
printf 'print("version " + db.version()); print("bytes " + db.adminCommand({ listDatabases: 1 }).totalSize);\n' > /tmp/davit/facts.js
ask /tmp/davit/facts.js > "$backup/facts"
census > "$backup/before"
tool mongodump --archive="$backup/dump.archive"
census > "$backup/after"
