#!/bin/sh
# `davit` in the container image: ./davit without what a checkout needs.
exec node --max-semi-space-size=4 /app/packages/server/src/main/cli.ts "$@"
