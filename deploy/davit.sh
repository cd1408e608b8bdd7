#!/bin/sh
# `davit` in the container image: ./davit without what a checkout needs.
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
exec node --max-semi-space-size=4 --expose-gc /app/packages/server/src/main/cli.ts "$@"
