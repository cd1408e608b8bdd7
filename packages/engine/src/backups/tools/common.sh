# What the scripts of all types share. They run in an instance of the database's own image, beside the database.
set -eu
backup=/davit/out/backup
# The first process of a container gets no signal that it does not ask for: so one that is stopped takes back what it has begun.
trap 'exit 143' TERM

# The files of a backup arrive in a running instance; `given` comes after the last of them.
await_backup() {
  until [ -e /davit/out/given ]; do sleep 0.2; done
}

# Does it again until it succeeds, for a minute: a database that was restarted answers again within seconds.
patiently() {
  tries=0
  until "$@" >/tmp/attempt 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -ge 60 ]; then
      cat /tmp/attempt >&2
      echo "the database does not answer at $DAVIT_HOST:$DAVIT_PORT" >&2
      exit 1
    fi
    sleep 1
  done
}

# Waits for a server that this script has started, and that writes to /tmp/server.log.
await_server() {
  server=$1
  shift
  until "$@" >/tmp/attempt 2>&1; do
    if ! kill -0 "$server" 2>/dev/null; then
      tail -n 20 /tmp/server.log >&2
      echo "the server for the test of the backup ended" >&2
      exit 1
    fi
    sleep 0.2
  done
}

# Fails with differences between what the database had and what there is now, in lines of whatever order. Not every image has diff.
same() {
  awk '
    FILENAME == ARGV[1] { was[$0]++; next }
    { is[$0]++ }
    END {
      for (line in was) if (was[line] != is[line]) { bad++; if (bad <= 20) print "was there " was[line] " times, is there " is[line] + 0 ": " line }
      for (line in is) if (!(line in was)) { bad++; if (bad <= 20) print "was not there: " line }
      if (bad) print bad " differences between the restored data and what the database had"
      exit bad ? 1 : 0
    }' "$1" "$2" >&2 || exit 65
}

# Lines of the second file that are in the first one too.
both() { awk 'FILENAME == ARGV[1] { first[$0]; next } $0 in first' "$1" "$2"; }
