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
const settings = { gatewayDomain: 'localhost', gatewayPort: 4480, variablePrefix: 'DAVIT' };
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
