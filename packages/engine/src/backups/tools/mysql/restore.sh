# In place, as this server cannot rename a schema: what fails in the middle leaves it half restored, and the safety backup brings back
# what there was.
. /davit/connect.sh
. /davit/compare.sh
await_backup
speak_with "$DAVIT_HOST" "$DAVIT_PORT"
patiently ask -e 'select 1'
ask -e "select concat('drop database \`', replace(schema_name, '\`', '\`\`'), '\`;') from information_schema.schemata
         where schema_name not in $own" > /tmp/drop.sql
ask < /tmp/drop.sql
ask < "$backup/dump.sql"
compare
