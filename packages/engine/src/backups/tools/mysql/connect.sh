. /davit/common.sh
export MYSQL_PWD="$DAVIT_PASSWORD"
# MariaDB has names of its own for the same programs.
first_of() { for name in "$@"; do if command -v "$name"; then return 0; fi; done; echo "the image has none of $*" >&2; exit 1; }
mysql=$(first_of mysql mariadb)
speak_with() { host=$1 port=$2; }
ask() { "$mysql" --no-defaults --protocol=tcp -h "$host" -P "$port" -u "$DAVIT_LOGIN" --batch --skip-column-names --raw "$@"; }
own="('mysql', 'sys', 'performance_schema', 'information_schema')"

# What there is: objects by name, and of each table the sum that the server makes over all of its rows.
census() {
  ask -e "select 'schema', schema_name, default_character_set_name, default_collation_name from information_schema.schemata
           where schema_name not in $own order by 2;
          select 'object', table_schema, table_type, table_name from information_schema.tables where table_schema not in $own order by 2, 4;
          select 'routine', routine_schema, routine_type, routine_name from information_schema.routines where routine_schema not in $own
           order by 2, 3, 4;
          select 'trigger', trigger_schema, trigger_name from information_schema.triggers where trigger_schema not in $own order by 2, 3;
          select 'event', event_schema, event_name from information_schema.events where event_schema not in $own order by 2, 3;
          select 'index', table_schema, table_name, index_name, column_name from information_schema.statistics
           where table_schema not in $own order by 2, 3, 4, seq_in_index"
  ask -e "select concat('select ''rows of ', replace(table_schema, '''', ''''''), '.', replace(table_name, '''', ''''''),
                        ''', count(*) from \`', replace(table_schema, '\`', '\`\`'), '\`.\`', replace(table_name, '\`', '\`\`'),
                        '\`; checksum table \`', replace(table_schema, '\`', '\`\`'), '\`.\`', replace(table_name, '\`', '\`\`'), '\` extended;')
            from information_schema.tables where table_schema not in $own and table_type = 'BASE TABLE' order by table_schema, table_name" \
    > /tmp/census.sql
  ask < /tmp/census.sql
}
