#!/bin/sh
# Prints the folder that holds a Node.js 24 or later. Where the system's is older, Node.js 24 is installed from the npm
# registry into .node/ of this checkout; nothing outside the checkout is touched.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
major() { NODE_OPTIONS= "$1" -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0; }
system=$(command -v node || true)
if [ -n "$system" ] && [ "$(major "$system")" -ge 24 ]; then dirname "$system"; exit 0; fi
own="$root/.node/node_modules/node/bin"
if [ ! -x "$own/node" ] || [ "$(major "$own/node")" -lt 24 ]; then
  command -v npm >/dev/null || { echo "davit: Node.js 24 is needed, and there is no npm to get it with. Install Node.js 24 and try again." >&2; exit 1; }
  echo "davit: Node.js ${system:+here is older than 24; }installing Node.js 24 into .node/" >&2
  mkdir -p "$root/.node"
  [ -f "$root/.node/package.json" ] || echo '{"private":true}' >"$root/.node/package.json"
  NODE_NO_WARNINGS=1 npm install --prefix "$root/.node" --no-save --no-audit --no-fund --loglevel=error node@24 >&2
fi
[ -x "$own/node" ] || { echo "davit: installing Node.js 24 failed; see the lines above." >&2; exit 1; }
echo "$own"
