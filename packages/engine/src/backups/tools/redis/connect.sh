. /davit/common.sh
export REDISCLI_AUTH="$DAVIT_PASSWORD"
at_database() { redis-cli --no-auth-warning -h "$DAVIT_HOST" -p "$DAVIT_PORT" "$@"; }
at_own() { redis-cli --no-auth-warning -h 127.0.0.1 -p 6399 "$@"; }
answers() { [ "$("$@" ping)" = PONG ]; }
# Says nothing good of an error: redis-cli ends with 0 whatever the server answers.
told() { answer=$("$@"); [ "$answer" = OK ] || { echo "$answer" >&2; exit 1; }; }
keys_of() { "$@" info keyspace | tr -d '\r' | sed -n 's/^db[0-9]*:keys=\([0-9]*\),.*/\1/p' | awk '{ n += $1 } END { print n + 0 }'; }

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
