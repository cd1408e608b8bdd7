. /davit/common.sh
ask() { psql -XAtq -v ON_ERROR_STOP=1 "$@"; }

# All that follows speaks with the server at this host and port, as the administrator, in the database that is there from the start.
speak_with() {
  export PGHOST="$1" PGPORT="$2" PGUSER="$DAVIT_LOGIN" PGPASSWORD="$DAVIT_PASSWORD" PGDATABASE="$DAVIT_DATABASE" PGCONNECT_TIMEOUT=5
}

# Opens what a restore closed and left so when it was killed. Davit's restores did so before they changed names in one statement. All
# of them were closed then; what an owner closed while the own database was open stays closed.
reopen() {
  ask -d template1 -v main="$DAVIT_DATABASE" <<'SQL'
select format('alter database %I allow_connections true', datname) from pg_database
 where not datistemplate and not datallowconn and datconnlimit >= -1
   and exists (select from pg_database where datname = :'main' and not datallowconn)
\gexec
SQL
}

# Numbers of the databases of a backup.
numbers() { ls "$backup" | sed -n 's/^\([0-9]*\)\.dump$/\1/p'; }
