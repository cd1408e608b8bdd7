#!/bin/sh
# `davit` in the container image: ./davit without what a checkout needs.
# These commands work on this machine, with the state folder and the database. All others call a server, as every user may:
# they are the command line of packages/cli. `davit cli` leads to those whose names both have, such as `davit cli token`.
case "${1-}" in
'' | serve | migrate | token | account | organization | export | import | disk | cluster | doctor | help | version | -*) ;;
*)
  [ "$1" != cli ] || shift
  program=/app/packages/cli/dist/davit.mjs
  [ -f "$program" ] || program=/app/packages/cli/src/main.ts
  exec node "$program" "$@"
  ;;
esac
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
export MALLOC_TRIM_THRESHOLD_="${MALLOC_TRIM_THRESHOLD_:-131072}"
exec node --max-semi-space-size=4 --expose-gc /app/packages/server/src/main/cli.ts "$@"
