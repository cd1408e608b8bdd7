import type { DriverError } from '../errors.ts';
import type { HttpRoute, RouteTable, TcpRoute } from '../gateway.ts';

type Route = HttpRoute | TcpRoute;

/** Returns why HAProxy refuses a table; null if HAProxy accepts it. Fails if HAProxy cannot be run. */
export type Ask = (table: RouteTable) => Promise<DriverError | null>;

/**
 * Returns the routes that HAProxy refuses, by id, with its message about each; empty if it accepts the whole table.
 * Fails with HAProxy's message if HAProxy refuses even a table without routes, as no route is to blame then. If routes
 * are refused only in combination, the last one is blamed.
 * @param known ids that were refused before. They are checked again with the others, and left out first, as they mostly
 * still are the refused ones.
 */
export async function refusedRoutes(
  table: RouteTable,
  known: ReadonlyMap<string, DriverError>,
  ask: Ask,
): Promise<ReadonlyMap<string, DriverError>> {
  const whole = await ask(table);
  if (whole === null) return new Map();
  const routes: readonly Route[] = [...table.http, ...table.tcp];
  const refused = new Map([...known].filter(([id]) => routes.some((route) => route.id === id)));
  if (refused.size > 0 && (await ask(withoutRoutes(table, refused))) === null) return refused;
  refused.clear();
  const none = await ask(withoutRoutes(table, new Map(routes.map(({ id }) => [id, whole]))));
  if (none !== null) throw none;
  for (let rest = routes, failure: DriverError | null = whole; failure !== null;) {
    const culprit = await firstRefused(table, rest, ask);
    rest = rest.filter((route) => route !== culprit.route);
    refused.set(culprit.route.id, culprit.failure);
    failure = await ask(withoutRoutes(table, refused));
  }
  return refused;
}

/**
 * Returns the first route that makes HAProxy refuse it together with the routes before it. HAProxy checks a thousand
 * routes in a quarter of a second.
 */
async function firstRefused(
  table: RouteTable,
  routes: readonly Route[],
  ask: Ask,
): Promise<{ readonly route: Route; readonly failure: DriverError }> {
  let taken = 0;
  let refused = routes.length;
  let failure = await ask(onlyRoutes(table, routes));
  while (refused - taken > 1) {
    const middle = Math.floor((taken + refused) / 2);
    const answer = await ask(onlyRoutes(table, routes.slice(0, middle)));
    if (answer === null) taken = middle;
    else [refused, failure] = [middle, answer];
  }
  const route = routes[refused - 1];
  if (route === undefined || failure === null) throw new Error('HAProxy accepted a route that it had refused before');
  // HAProxy's message is about this route only if the route is checked alone.
  return { route, failure: (await ask(onlyRoutes(table, [route]))) ?? failure };
}

/** Returns the table without the routes with these ids. */
export function withoutRoutes(table: RouteTable, ids: ReadonlyMap<string, unknown>): RouteTable {
  return {
    ...table,
    http: table.http.filter(({ id }) => !ids.has(id)),
    tcp: table.tcp.filter(({ id }) => !ids.has(id)),
  };
}

function onlyRoutes(table: RouteTable, routes: readonly Route[]): RouteTable {
  const wanted = new Set(routes);
  return { ...table, http: table.http.filter((route) => wanted.has(route)), tcp: table.tcp.filter((route) => wanted.has(route)) };
}
