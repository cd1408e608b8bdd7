. /davit/common.sh
export REDISCLI_AUTH="$DAVIT_PASSWORD"
at_database() { redis-cli --no-auth-warning -h "$DAVIT_HOST" -p "$DAVIT_PORT" "$@"; }
at_own() { redis-cli --no-auth-warning -h 127.0.0.1 -p 6399 "$@"; }
answers() { [ "$("$@" ping)" = PONG ]; }
# Says nothing good of an error: redis-cli ends with 0 whatever the server answers.
told() { answer=$("$@"); [ "$answer" = OK ] || { echo "$answer" >&2; exit 1; }; }
keys_of() { "$@" info keyspace | tr -d '\r' | sed -n 's/^db[0-9]*:keys=\([0-9]*\),.*/\1/p' | awk '{ n += $1 } END { print n + 0 }'; }

# Succeeds when the database does not copy a bench, and sees to it where it does: the bench of a restore that was killed would leave it
# a replica of nobody, which refuses all writes. What another server gives it stays as it is.
detached() {
  replication=$(at_database info replication | tr -d '\r')
  case $replication in *role:*) ;; *) echo "$replication" >&2; return 1 ;; esac
  echo "$replication" | grep -q '^master_host:bench-[0-9a-f]\{8\}$' || return 0
  # In this order: without the second one it is found again.
  for command in 'config set masterauth ""' 'replicaof no one'; do
    answer=$(echo "$command" | at_database)
    # While it reads a copy into its memory it takes no such command, and that takes as long as it takes.
    case $answer in OK) ;; LOADING*) tries=0; return 1 ;; *) echo "$answer" >&2; return 1 ;; esac
  done
  echo 'the database copied a bench; it is on its own again, with what it had or with all of the backup' > /tmp/detached
}

# Starts a server with the backup as its data. The password comes by standard input, as nobody should see it among the arguments.
serve_backup() {
  echo "requirepass $DAVIT_PASSWORD" |
    redis-server - --port 6399 --protected-mode no --dir "$backup" --dbfilename dump.rdb --appendonly no --save '' > /tmp/server.log 2>&1 &
  await_server $! answers at_own
}

# What is in the file, as Redis' own check of it says: keys, and those of them that may expire meanwhile.
compare() {
  found=$(keys_of "$@")
  most=$(sed -n 's/^keys //p' "$backup/facts")
  least=$((most - $(sed -n 's/^expires //p' "$backup/facts")))
  if [ "$found" -gt "$most" ] || [ "$found" -lt "$least" ]; then
    echo "there are $found keys; the backup has $most, of which $((most - least)) may expire" >&2
    exit 65
  fi
}
