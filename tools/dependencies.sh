#!/bin/sh
# Installs the npm packages of this checkout where they are missing or not those of package-lock.json, and builds the
# console and the command line where their sources are newer than what was built. Needs Node.js 24 in PATH (tools/node.sh).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

install() {
  if [ -f node_modules/.package-lock.json ]; then
    [ node_modules/.package-lock.json -nt package-lock.json ] && return
    # The lock file is newer, which a git checkout does as well; what counts is what it says.
    if node tools/dependencies-match.ts; then touch node_modules/.package-lock.json; return; fi
  fi
  echo "davit: installing the npm packages of package-lock.json" >&2
  # npm of Debian warns of what Node.js 24 deprecates, which reads like a fault.
  NODE_NO_WARNINGS=1 npm ci --include=dev --no-audit --no-fund --loglevel=error >&2
}

# Builds a package into its folder dist, if a file of it or of what it is made of is newer than the built file. Davit works
# without the console and the command line, so that a failure is reported and no more. Several commands may build at the
# same time.
#   build <package> <built file> <name for messages>
build() {
  package=packages/$1
  built=$package/dist/$2
  [ -f "$built" ] && [ -z "$(find "$package" packages/client/src packages/contract/src package-lock.json \
    -path "$package/dist*" -prune -o -type f -newer "$built" -print -quit)" ] && return
  echo "davit: building the $3" >&2
  folder=$package/dist.$$
  # A caller's NODE_ENV would build the pages with what only developers of React need.
  if (cd "$package" && NODE_ENV=production node ../../node_modules/vite/bin/vite.js build --logLevel error --emptyOutDir --outDir "dist.$$") >&2; then
    rm -rf "$package/dist"
    mv "$folder" "$package/dist" 2>/dev/null || rm -rf "$folder"
  else
    echo "davit: the $3 could not be built; the API works without it" >&2
    rm -rf "$folder"
  fi
}

install
build console index.html console
build cli davit.mjs 'command line'
