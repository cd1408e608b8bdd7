import type { ReleasePort } from '@davit/engine/port';
import { expect, test } from 'vitest';
import { toLinks } from './link.ts';

const port: ReleasePort = {
  id: 'p',
  name: 'p80',
  internalPort: 80,
  externalPort: null,
  public: true,
  isDefault: true,
  protocol: 'HTTP',
  hosts: ['web.localhost'],
  pathPrefix: '/',
  pathRewrite: null,
};
const clusterSettings = {
  'a9f0a2c4-0000-4000-8000-000000000001': { address: 'https://apps.example.org' },
  'a9f0a2c4-0000-4000-8000-000000000002': { address: 'http://dev.example.org:8080' },
};
const settings = {
  gatewayDomain: 'localhost',
  gatewayPort: 4480,
  variablePrefix: 'DAVIT',
  clusterSettings,
  gatewayHttpsPort: null,
  addressCertificates: 'none' as const,
};
const urls = (ports: ReleasePort[], gatewayPort = 4480): string[] =>
  toLinks({ id: 's', type: 'APPLICATION' }, ports, { ...settings, gatewayPort, gatewayHttpsPort: null, secured: new Set() }).map(
    ({ url }) => url,
  );

test('a public port is reached through the gateway, with its path', () => {
  expect(urls([port])).toEqual(['http://web.localhost:4480']);
  expect(urls([{ ...port, pathPrefix: '/api' }])).toEqual(['http://web.localhost:4480/api']);
  expect(urls([port], 80)).toEqual(['http://web.localhost']);
});

test('a public TCP or UDP port is reached on the machine, a private port not at all', () => {
  const tcp = { ...port, protocol: 'TCP' as const, hosts: [], externalPort: 9000 };
  expect(urls([tcp, { ...tcp, protocol: 'UDP' }, { ...port, public: false }])).toEqual([
    'tcp://localhost:9000',
    'udp://localhost:9000',
  ]);
});

test('a service is reached where the cluster that it is deployed on has its address', () => {
  const hosts = ['web.apps.example.org'];
  expect(urls([{ ...port, hosts, pathPrefix: '/api' }])).toEqual(['https://web.apps.example.org/api']);
  expect(urls([{ ...port, hosts, customHosts: ['shop.example.com'] }])).toEqual([
    'https://web.apps.example.org',
    'https://shop.example.com',
  ]);
  expect(urls([{ ...port, hosts: ['web.dev.example.org'] }])).toEqual(['http://web.dev.example.org:8080']);
});

test('a public port of a service on a cluster without an address has no link', () => {
  expect(urls([{ ...port, hosts: [] }])).toEqual([]);
});
