# In place: what fails in the middle leaves it half restored, and the safety backup brings back what there was.
. /davit/connect.sh
. /davit/compare.sh
await_backup
speak_with "$DAVIT_HOST" "$DAVIT_PORT"
patiently ask /tmp/davit/ping.js
cat > /tmp/davit/drop.js <<'JS'
const own = ['admin', 'config', 'local'];
for (const { name } of db.adminCommand({ listDatabases: 1 }).databases) if (!own.includes(name)) db.getSiblingDB(name).dropDatabase();
JS
ask /tmp/davit/drop.js
tool mongorestore --archive="$backup/dump.archive" --nsExclude='admin.*' --nsExclude='config.*' --stopOnError
compare
