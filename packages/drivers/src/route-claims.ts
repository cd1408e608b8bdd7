import { DriverError } from './errors.ts';
import type { RouteTable } from './gateway.ts';

/**
 * The claims of routes: their ids, addresses and ports. Each has one owner. A caller that changes a large table
 * route by route finds out here whether a route fits, without a look at the whole table.
 */
export class RouteClaims {
  /** The id of the route that has a claim, by claim. */
  readonly #owners = new Map<string, string>();

  /** Adds what these routes claim. Fails with GATEWAY_FAILED, and adds nothing, if another route claims the same. */
  add(routes: Routes): void {
    const added: string[] = [];
    for (const [claim, route] of claimsOf(routes)) {
      const owner = this.#owners.get(claim);
      if (owner !== undefined) {
        for (const one of added) this.#owners.delete(one);
        throw claimedTwice(claim, [owner, route]);
      }
      this.#owners.set(claim, route);
      added.push(claim);
    }
  }

  delete(routes: Routes): void {
    for (const [claim] of claimsOf(routes)) this.#owners.delete(claim);
  }
}

type Routes = Pick<RouteTable, 'http' | 'tcp'>;

function* claimsOf({ http, tcp }: Routes): Generator<readonly [claim: string, route: string]> {
  for (const { id, hosts, pathPrefix } of http) {
    yield [`the id ${id}`, id];
    for (const host of new Set(hosts)) yield [`the address ${host}${withoutFinalSlash(pathPrefix)}`, id];
  }
  for (const { id, listenPort } of tcp) {
    yield [`the id ${id}`, id];
    yield [`the port ${listenPort}`, id];
  }
}

/** Returns the failure of a table in which two routes claim the same. */
export function claimedTwice(claim: string, [owner, route]: readonly [string, string]): DriverError {
  return new DriverError({
    cause: 'GATEWAY_FAILED',
    message: `Routes ${owner} and ${route} both claim ${claim}.`,
    hint: 'Give one of them another; the gateway keeps what it serves.',
  });
}

/** Returns the path without slashes at its end, except for `/` itself. */
export function withoutFinalSlash(path: string): string {
  return path === '/' ? path : path.replace(/\/+$/, '') || '/';
}
