import { expect, test } from 'vitest';
import { registryHost } from '../registry-image.ts';
import { config, helmSource } from '../testing/config.ts';
import { routeRemarks, routesOf } from './front-door.ts';

const [port] = config().ports;

test('only ports with host names are led in from outside, and the log says which are not', () => {
  if (port === undefined) throw new Error('there is no port');
  const ports = [
    { ...port, customHosts: ['shop.example.org'] },
    { ...port, id: 'tcp', internalPort: 5432, protocol: 'TCP' as const, hosts: [] },
    { ...port, id: 'nameless', internalPort: 80, hosts: [] },
    { ...port, id: 'private', internalPort: 81, public: false },
  ];
  const routes = routesOf('1a2b3c4d-5', { ports, source: config().source });
  expect(routes).toEqual([{ id: 'port', hosts: ['shop.localhost', 'shop.example.org'], pathPrefix: '/', internalPort: 3000 }]);
  expect(routeRemarks({ ports }, routes)).toEqual([
    'The cluster leads requests for shop.localhost, shop.example.org to the new instances.',
    'Port 5432 (TCP) is public, and is reached inside the cluster alone: this cluster leads only HTTP and gRPC in from outside.',
    'Port 80 (HTTP) is public, and is reached inside the cluster alone: no address is set for this cluster.',
  ]);
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
  expect(routesOf('1A2B3C4D-5', { ports, source }).map(({ to }) => to)).toEqual([
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
