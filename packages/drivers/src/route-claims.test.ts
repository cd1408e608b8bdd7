import { expect, test } from 'vitest';
import type { HttpRoute, TcpRoute } from './gateway.ts';
import { RouteClaims } from './route-claims.ts';

const http = (id: string, host: string, pathPrefix = '/'): HttpRoute => ({
  id,
  hosts: [host],
  pathPrefix,
  pathRewrite: null,
  protocol: 'HTTP',
  backends: [],
});
const tcp = (id: string, listenPort: number): TcpRoute => ({ id, listenPort, backends: [] });

test.each([
  ['the id a', { http: [http('a', 'b.test')], tcp: [] }],
  ['the id a', { http: [], tcp: [tcp('a', 5433)] }],
  ['the address a.test/', { http: [http('b', 'a.test')], tcp: [] }],
  ['the address a.test/shop', { http: [http('b', 'a.test', '/shop/')], tcp: [] }],
  ['the port 5432', { http: [], tcp: [tcp('b', 5432)] }],
])('%s is claimed by one route, and a refused claim leaves nothing behind', (claim, routes) => {
  const claims = new RouteClaims();
  claims.add({ http: [http('a', 'a.test'), http('shop', 'a.test', '/shop')], tcp: [tcp('database', 5432)] });
  const rest = { http: [http('rest', 'rest.test')], tcp: [tcp('rest-database', 5000)] };
  expect(() => claims.add({ http: [...rest.http, ...routes.http], tcp: [...rest.tcp, ...routes.tcp] })).toThrow(
    `both claim ${claim}.`,
  );
  claims.add(rest);
});

test('what was given up can be claimed again, by a route with the same host twice too', () => {
  const claims = new RouteClaims();
  const routes = { http: [{ ...http('a', 'a.test'), hosts: ['a.test', 'a.test'] }], tcp: [tcp('b', 5432)] };
  claims.add(routes);
  expect(() => claims.add(routes)).toThrow('both claim');
  claims.delete(routes);
  claims.add(routes);
});
