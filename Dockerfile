# Davit as a container image. `docker build -t davit .` in the root of the repository; docs/how-to/build-the-image.md tells the rest.
#
# NODE_IMAGE: Node.js 24 with npm on Debian, from which the programs below come by apt.
ARG NODE_IMAGE=docker.io/library/node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS manifests
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/base-node/package.json packages/base-node/
COPY packages/base/package.json packages/base/
COPY packages/cli/package.json packages/cli/
COPY packages/client/package.json packages/client/
COPY packages/console/package.json packages/console/
COPY packages/contract/package.json packages/contract/
COPY packages/db/package.json packages/db/
COPY packages/drivers/package.json packages/drivers/
COPY packages/engine/package.json packages/engine/
COPY packages/server/package.json packages/server/
COPY packages/testkit/package.json packages/testkit/

# The console and the command line: static files.
FROM manifests AS console
RUN npm ci --no-audit --no-fund
COPY packages ./packages
RUN npm run build --workspace=@davit/console && npm run build --workspace=@davit/cli

# The packages that it needs when it runs, and nothing else.
FROM manifests AS packages
# Optional packages are the embedded PostgreSQL, which a container does without, and helpers of what the next step removes.
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund
RUN rm -rf packages/testkit node_modules/@davit/testkit node_modules/@types \
 && find . -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Davit" \
      org.opencontainers.image.description="Self-hosted deployment platform with one JSON-over-HTTP API" \
      org.opencontainers.image.licenses="Apache-2.0"
# git: sources of applications. nftables, conntrack: addresses of services inside environments. haproxy: the gateway to what runs on
# a container engine (role all or worker). tini: as process 1 it
# passes signals on and takes up processes that lost their parent, as helpers of git do.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates conntrack git haproxy nftables tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* \
 && install -d -o 1000 -g 1000 -m 0711 /var/lib/davit
WORKDIR /app
COPY --from=packages /app ./
COPY LICENSE ./
COPY docs ./docs
COPY packages ./packages
COPY --from=console /app/packages/console/dist ./packages/console/dist
COPY --from=console /app/packages/cli/dist ./packages/cli/dist
COPY --chmod=755 deploy/davit.sh /usr/local/bin/davit
# Whoever is in the container is user 1000, who may write below the state folder and /tmp only.
USER 1000:1000
ENV NODE_ENV=production \
    HOME=/tmp \
    DAVIT_HOME=/var/lib/davit \
    DAVIT_HOST=0.0.0.0 \
    DAVIT_PORT=4440 \
    DAVIT_GATEWAY_HOST=0.0.0.0
EXPOSE 4440 4480
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.DAVIT_PORT}/healthz`).then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "davit"]
CMD ["serve"]
