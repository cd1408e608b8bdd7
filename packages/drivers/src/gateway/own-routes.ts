import type { HttpRoute, RouteTable } from '../gateway.ts';
import { DriverError } from '../errors.ts';

/*
 * Routes of Davit itself, such as the one to its API. They are part of the gateway's settings and not of its table, so
 * they are served from the start, also while no container engine is reachable.
 */

/**
 * Returns the table with the own routes added. Their hosts lead to HTTPS even before they have a certificate: passwords
 * and tokens must not be sent in the clear.
 */
export function withOwnRoutes(table: RouteTable, own: readonly HttpRoute[]): RouteTable {
  if (own.length === 0) return table;
  const redirects = [...(table.redirects ?? []), ...own.flatMap(({ hosts }) => hosts)];
  return { ...table, http: [...own, ...table.http], redirects };
}

/** Fails with GATEWAY_FAILED if a route of the table has a host of Davit's own, whatever its path. */
export function refuseOwnHosts(table: RouteTable, own: readonly HttpRoute[]): void {
  const hosts = new Set(own.flatMap((route) => route.hosts));
  for (const route of table.http) {
    const host = route.hosts.find((one) => hosts.has(one));
    if (host === undefined) continue;
    throw new DriverError({
      cause: 'GATEWAY_FAILED',
      message: `Route ${route.id} has the host ${host}, at which Davit itself answers (DAVIT_PUBLIC_URL).`,
      hint: 'Remove the domain from the service and deploy it; the gateway keeps what it serves.',
    });
  }
}
