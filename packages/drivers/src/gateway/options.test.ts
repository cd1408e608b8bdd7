import { expect, test } from 'vitest';
import { ownPorts, refuseBadOptions, type GatewayOptions } from './options.ts';

const options: GatewayOptions = { stateFolder: '/var/lib/davit', port: 80, bindAddress: '0.0.0.0' };

test.each<[string, Partial<GatewayOptions>, string, RegExp]>([
  ['a folder with a line break', {}, '/var/lib/a\nb', /characters that HAProxy does not accept/],
  ['a folder too long for a socket', {}, `/${'a'.repeat(80)}`, /longer than 80 characters/],
  ['a host name to listen on', { bindAddress: 'localhost' }, '/a', /"localhost" is not an IP address/],
  ['a port beyond 65535', { port: 70_000 }, '/a', /70000 is not a port/],
  ['one port for HTTP and HTTPS', { httpsPort: 80 }, '/a', /Port 80 cannot be used for both/],
  ['a name as a trusted proxy', { trustedProxies: ['10.0.0.0/8', 'proxy'] }, '/a', /"proxy" is not an address/],
])('%s is refused before HAProxy starts', (_name, more, folder, message) => {
  expect(() => refuseBadOptions({ ...options, ...more }, folder)).toThrow(message);
});

test('each port is named with the setting that changes it', () => {
  refuseBadOptions(options, options.stateFolder);
  expect(ownPorts({ ...options, httpsPort: 443 })).toEqual([
    { port: 80, variable: 'DAVIT_GATEWAY_PORT' },
    { port: 443, variable: 'DAVIT_GATEWAY_HTTPS_PORT' },
  ]);
});
