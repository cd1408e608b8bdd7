. /davit/connect.sh
mkdir -p "$backup"
speak_with "$DAVIT_HOST" "$DAVIT_PORT"
patiently ask -e 'select 1'
dump=$(first_of mysqldump mariadb-dump)
options='--single-transaction --quick --routines --events --triggers --hex-blob'
# MySQL only: whose transactions these were is nothing that another server may take over.
if "$dump" --help 2>/dev/null | grep -q set-gtid-purged; then options="$options --set-gtid-purged=OFF"; fi
ask -e "select concat('version ', version());
        select concat('bytes ', coalesce(sum(data_length + index_length), 0)) from information_schema.tables" > "$backup/facts"
census > "$backup/before"
ask -e "select schema_name from information_schema.schemata where schema_name not in $own order by 1" > /tmp/schemas
set -f
IFS='
'
set -- $(cat /tmp/schemas)
unset IFS
if [ "$#" -gt 0 ]; then
  # shellcheck disable=SC2086 -- options are words of their own
  "$dump" --no-defaults --protocol=tcp -h "$host" -P "$port" -u "$DAVIT_LOGIN" $options --databases "$@" > "$backup/dump.sql"
  tail -n 1 "$backup/dump.sql" | grep -q 'Dump completed'
else
  : > "$backup/dump.sql"
fi
# This server tells no moment to two programs. What was the same before and after was the same in between: that is compared.
census > "$backup/after"
