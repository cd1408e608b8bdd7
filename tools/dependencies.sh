#!/bin/sh
# Installs the npm packages of this checkout where they are missing or not those of package-lock.json. Needs Node.js 24 in
# PATH (tools/node.sh).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
if [ -f node_modules/.package-lock.json ]; then
  [ node_modules/.package-lock.json -nt package-lock.json ] && exit 0
  # The lock file is newer, which a git checkout does as well; what counts is what it says.
  if node tools/dependencies-match.ts; then touch node_modules/.package-lock.json; exit 0; fi
fi
echo "davit: installing the npm packages of package-lock.json" >&2
npm ci --include=dev --no-audit --no-fund --loglevel=error >&2
