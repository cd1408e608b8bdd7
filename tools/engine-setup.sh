#!/bin/sh
# Usage: tools/engine-setup.sh run|test
# Sees that the programs are there that Davit works with: git, HAProxy and a container engine (`run`), and those that the
# tests need besides (`test`). On Debian and Ubuntu as root it installs what is missing through apt and says so; elsewhere
# it says what to install. Needs Node.js 24 in PATH (tools/node.sh).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
missing=
need() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }

# Tests that work with it are skipped where it is not to be had.
want() {
  [ "$(id -u)" = 0 ] || return 0
  command -v "$1" >/dev/null 2>&1 || ! apt-cache show "$2" >/dev/null 2>&1 || missing="$missing $2"
}

# netavark gives containers their network, aardvark-dns their names and catatonit their init process (docker.io brings its own); crun refuses machines with both kinds of cgroups.
need_podman() {
  need podman podman
  need runc runc
  need iptables iptables
  [ -x /usr/lib/podman/netavark ] || [ -x /usr/libexec/podman/netavark ] || missing="$missing netavark"
  [ -x /usr/libexec/podman/catatonit ] || [ -x /usr/lib/podman/catatonit ] || [ -x /usr/libexec/catatonit/catatonit ] || missing="$missing catatonit"
  [ -x /usr/lib/podman/aardvark-dns ] || [ -x /usr/libexec/podman/aardvark-dns ] || missing="$missing aardvark-dns"
}

need git git
need haproxy haproxy
[ -e /etc/ssl/certs/ca-certificates.crt ] || [ ! -e /etc/debian_version ] || missing="$missing ca-certificates"
case ${1:-} in
  run) node "$root/tools/engine-answers.ts" || need_podman ;;
  test)
    need_podman
    need dockerd docker.io
    need docker-registry docker-registry
    need redis-server redis-server
    need mariadbd mariadb-server-core
    need mariadb-dump mariadb-client
    need busybox busybox-static
    need ip iproute2
    need nft nftables
    need conntrack conntrack
    want pebble pebble
    want named bind9
    want chromium chromium
    want promtool prometheus
    want mmdebstrap mmdebstrap
    ;;
  *) echo "usage: $0 run|test" >&2; exit 2 ;;
esac
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "davit: these programs are missing (by their names in Debian):$missing. Install them and try again." >&2
  exit 1
fi
if [ "$(id -u)" != 0 ]; then
  echo "davit: programs are missing. Run this as root: apt-get install --no-install-recommends$missing" >&2
  exit 1
fi
echo "davit: installing through apt:$missing" >&2

# Nothing that is installed here may start by itself: Davit runs its own HAProxy, and engines and ports of this machine are
# the operator's.
policy=/usr/sbin/policy-rc.d
own_policy=
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  own_policy=yes
fi
finish() { [ -z "$own_policy" ] || rm -f "$policy"; }
trap finish EXIT
trap 'exit 1' HUP INT TERM

log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
if ! { apt-get update && apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "davit: apt could not install$missing; the end of its output is above, all of it in $log." >&2
  exit 1
fi
rm -f "$log"
disable() {
  case " $missing " in *" $1 "*) shift; systemctl disable --quiet "$@" 2>/dev/null || true ;; esac
}
if [ -d /run/systemd/system ]; then
  disable haproxy haproxy.service
  disable podman podman.service podman.socket podman-restart.service podman-auto-update.timer
  disable docker.io docker.service docker.socket containerd.service
  disable docker-registry docker-registry.service
  disable redis-server redis-server.service
  disable bind9 named.service
fi
