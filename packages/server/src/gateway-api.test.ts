import { expect, test } from 'vitest';
import { gatewayApi, trustedProxies } from './gateway-api.ts';
import { readConfiguration } from './main/config.ts';

const https = { DAVIT_PUBLIC_URL: 'https://Davit.example.org', DAVIT_GATEWAY_HTTPS_PORT: '443' };
const read = (more: Readonly<Record<string, string | undefined>>) => readConfiguration({ ...https, ...more });

test('the gateway serves the API at the name and port of the public URL', () => {
  const own = { host: 'davit.example.org', addresses: [{ host: '127.0.0.1', port: 4440 }] };
  expect(gatewayApi(read({}))).toEqual(own);
  expect(gatewayApi(read({ DAVIT_HOST: '0.0.0.0' }))).toEqual(own);
  expect(gatewayApi(read({ DAVIT_HOST: '::' }))?.addresses).toEqual([{ host: '::1', port: 4440 }]);
  const port = { DAVIT_PUBLIC_URL: 'https://davit.example.org:8443', DAVIT_GATEWAY_HTTPS_PORT: '8443' };
  expect(gatewayApi(read(port))).toEqual(own);
});

test('the gateway leaves the public URL to a proxy in front, unless it is told where the API is', () => {
  const behind = { DAVIT_GATEWAY_HTTPS_PORT: '8443' };
  for (const other of [
    behind,
    { DAVIT_PUBLIC_URL: 'http://davit.example.org' },
    { DAVIT_PUBLIC_URL: 'https://example.org/davit' },
    { DAVIT_PUBLIC_URL: 'https://192.0.2.7' },
    { DAVIT_PUBLIC_URL: 'https://[2001:db8::7]' },
    { DAVIT_GATEWAY_HTTPS_PORT: '' },
    { DAVIT_ROLE: 'worker' },
    { DAVIT_LOCAL_ENGINE: 'false' },
  ]) {
    expect(gatewayApi(read(other))).toBeNull();
  }
  const addresses = [
    { host: '10.0.0.5', port: 4440 },
    { host: '2001:db8::5', port: 4441 },
  ];
  const told = { ...behind, DAVIT_ROLE: 'worker', DAVIT_GATEWAY_API: '10.0.0.5:4440, [2001:db8::5]:4441' };
  expect(gatewayApi(read(told))).toEqual({ host: 'davit.example.org', addresses });
});

test('the API believes the addresses of callers that its own gateway names, and of no other proxy', () => {
  expect(trustedProxies(read({}))).toEqual(['127.0.0.0/8', '::1', '127.0.0.1']);
  expect(trustedProxies(read({ DAVIT_GATEWAY_HTTPS_PORT: '8443' }))).toBe(false);
  const apart = { DAVIT_ROLE: 'api', DAVIT_GATEWAY_API: '127.0.0.1:4440' };
  expect(trustedProxies(read(apart))).toEqual(['127.0.0.0/8', '::1', '127.0.0.1']);
  expect(trustedProxies(read({ DAVIT_ROLE: 'api' }))).toBe(false);
  expect(trustedProxies(read({ DAVIT_TRUST_PROXY: 'true' }))).toBe(true);
});
