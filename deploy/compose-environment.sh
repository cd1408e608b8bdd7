#!/bin/sh
# Usage: deploy/compose-environment.sh
# Writes what deploy/compose.yaml needs and nobody else may know into deploy/.env (0600): new random secrets, and the group that may use
# the container engine's socket (DAVIT_ENGINE_SOCKET, /var/run/docker.sock by default). What is in that file already stays.
set -eu
umask 077
folder=$(cd "$(dirname "$0")" && pwd)
file=$folder/.env
socket=${DAVIT_ENGINE_SOCKET:-/var/run/docker.sock}
[ -S "$socket" ] || { echo "there is no socket of a container engine at $socket: start the engine, or set DAVIT_ENGINE_SOCKET" >&2; exit 1; }
touch "$file" "$folder/davit.env"
chmod 600 "$file" "$folder/davit.env"
add() {
  grep -q "^$1=" "$file" && return
  printf '%s=%s\n' "$1" "$2" >>"$file"
  echo "deploy/.env: added $1"
}
random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
add COMPOSE_PROJECT_NAME davit
add DAVIT_DATABASE_PASSWORD "$(random 24)"
add DAVIT_SECRET_KEY "$(head -c 32 /dev/urandom | base64)"
add DAVIT_BOOTSTRAP_TOKEN "$(random 24)"
add DAVIT_ENGINE_SOCKET "$socket"
add DAVIT_ENGINE_GROUP "$(stat -c %g "$socket")"
