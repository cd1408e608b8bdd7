. /davit/common.sh
ask() { psql -XAtq -v ON_ERROR_STOP=1 "$@"; }

# All that follows speaks with the server at this host and port, as the administrator, in the database that is there from the start.
speak_with() {
  export PGHOST="$1" PGPORT="$2" PGUSER="$DAVIT_LOGIN" PGPASSWORD="$DAVIT_PASSWORD" PGDATABASE="$DAVIT_DATABASE" PGCONNECT_TIMEOUT=5
}

# Numbers of the databases of a backup.
numbers() { ls "$backup" | sed -n 's/^\([0-9]*\)\.dump$/\1/p'; }
