import { expect, test } from 'vitest';
import { registryHost } from '../workload/registry-image.ts';
import { config, helmSource } from '../testing/config.ts';
import type { ReleaseConfig } from '../model.ts';
import { allKinds } from '../kinds/index.ts';
import { Kinds } from '../kinds/kinds.ts';
import { routeRemarks, routesOf } from './cluster-routes.ts';
import { sourceSettings } from './route-settings.ts';

const kinds = new Kinds(allKinds);
const [port] = config().ports;

test('only ports with host names are led in from outside, and the log says which are not', () => {
  if (port === undefined) throw new Error('there is no port');
  const ports = [
    { ...port, customHosts: ['shop.example.org'] },
    { ...port, id: 'tcp', internalPort: 5432, protocol: 'TCP' as const, hosts: [] },
    { ...port, id: 'nameless', internalPort: 80, hosts: [] },
    { ...port, id: 'private', internalPort: 81, public: false },
  ];
  const routes = routesOf(kinds, '1a2b3c4d-5', { ports, source: config().source });
  expect(routes).toEqual([{ id: 'port', hosts: ['shop.localhost', 'shop.example.org'], pathPrefix: '/', internalPort: 3000 }]);
  expect(routeRemarks({ ports }, routes)).toEqual([
    'The cluster sends requests for shop.localhost, shop.example.org to the new instances.',
    'Port 5432 (TCP) is public, but can be reached inside the cluster only: this cluster accepts only HTTP and gRPC from outside.',
    'Port 80 (HTTP) is public, but can be reached inside the cluster only: no address is set for this cluster.',
  ]);
});

test('the log names what is set for routes and does nothing, as only the gateway does it', () => {
  if (port === undefined) throw new Error('there is no port');
  const crossOrigin = { origins: ['*'], methods: [], headers: [] };
  const http = {
    bodyLimitMebibytes: 1,
    connectTimeoutSeconds: 2,
    readTimeoutSeconds: 3,
    sticky: true,
    crossOrigin,
    headers: { A: 'b' },
  } as const;
  const remark = (changes: Partial<ReleaseConfig>): string | undefined => {
    const { ports, options } = config(changes);
    return routeRemarks({ ports, options }, routesOf(kinds, '1a2b3c4d-5', { ports, source: config().source }))[1];
  };
  expect(remark({})).toBeUndefined();
  expect(remark({ options: { gateway: { http: { allowedSources: ['0.0.0.0/0', '::/0'] } } } })).toBeUndefined();
  const all = remark({
    ports: [{ ...port, pathPrefix: '/api', pathRewrite: '/' }],
    options: { plainHttp: true, gateway: { http, grpc: { readTimeoutSeconds: 3 } } },
  });
  expect(all).toMatch(/^Without effect on this cluster, where requests enter through its own controller: /);
  for (const name of [
    'public_path_rewrite of port 3000',
    'proxy_body_size_mb',
    'proxy_connect_timeout_seconds',
    'proxy_read_timeout_seconds',
    'enable_sticky_session',
    'enable_cors',
    'extra_headers',
    'force_ssl_redirect',
  ])
    expect(all).toContain(name);
  expect(all).not.toContain('grpc_read');
  const grpc = {
    ports: [{ ...port, protocol: 'GRPC' as const }],
    options: { gateway: { http, grpc: { readTimeoutSeconds: 3 } } },
  };
  expect(remark(grpc)).toContain(': network.ingress.grpc_read_timeout_seconds.');
  expect(remark({ ports: [{ ...port, pathPrefix: '/api', pathRewrite: '/api' }] })).toBeUndefined();
  // A port that is not routed in has no route to which a setting could apply.
  expect(remark({ ports: [{ ...port, hosts: [] }], options: { gateway: { http } } })).toBeUndefined();
});

test.each([
  [{ allowedSources: ['10.0.0.0/8'] }, ['network.ingress.whitelist_source_range']],
  [{ allowedSources: ['::/0'] }, ['network.ingress.whitelist_source_range']],
  [{ allowedSources: ['0.0.0.0/0', '2001:db8::/32'] }, ['network.ingress.whitelist_source_range']],
  [{ allowedSources: ['0.0.0.0/0'] }, []],
  [{ allowedSources: ['10.0.0.0/8', '0.0.0.0/0', '::/0'] }, []],
  [{ deniedSources: ['10.0.0.1'] }, ['network.ingress.denylist_source_range']],
  [
    { allowedSources: ['10.0.0.0/8'], deniedSources: ['10.0.0.1'] },
    ['network.ingress.whitelist_source_range', 'network.ingress.denylist_source_range'],
  ],
  [{ sticky: true as const }, []],
])('%j of a public port restricts who is served by %j', (http, names) => {
  const options = { gateway: { http } };
  expect(sourceSettings(config({ options }))).toEqual(names);
  // The ports are not public, or have no address.
  for (const change of [{ public: false }, { hosts: [] }]) {
    const ports = config().ports.map((one) => ({ ...one, ...change }));
    expect(sourceSettings(config({ options, ports }))).toEqual([]);
  }
});

test('requests for a chart are led to the Services of the chart', () => {
  if (port === undefined) throw new Error('there is no port');
  const ports = [port, { ...port, id: 'other', hosts: ['other.localhost'] }];
  const source = helmSource({
    ports: [
      { id: 'port', service_name: 'web', service_selectors: null },
      { id: 'other', service_name: null, service_selectors: [{ key: 'app', value: 'api' }] },
    ],
  });
  expect(routesOf(kinds, '1A2B3C4D-5', { ports, source }).map(({ to }) => to)).toEqual([
    { release: 'helm-z1a2b3c4d', name: 'web' },
    { release: 'helm-z1a2b3c4d', selectors: { app: 'api' } },
  ]);
});

test.each([
  ['registry.example:5000/team/shop', 'registry.example:5000'],
  ['localhost/shop', 'localhost'],
  ['ghcr.example.org/shop', 'ghcr.example.org'],
  ['docker.io/library/shop', 'https://index.docker.io/v1/'],
  ['team/shop', 'https://index.docker.io/v1/'],
  ['shop', 'https://index.docker.io/v1/'],
])('the credentials for %s are those of %s', (name, host) => {
  expect(registryHost(name)).toBe(host);
});
