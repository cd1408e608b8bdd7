import { expect, test } from 'vitest';
import { endpointOf, hostAt } from './public-endpoint.ts';

const east = 'a9f0a2c4-0000-4000-8000-000000000001';
const west = 'a9f0a2c4-0000-4000-8000-000000000002';
const settings = {
  gatewayDomain: 'localhost',
  gatewayPort: 4480,
  clusterSettings: { [east]: { address: 'https://apps.example.org' }, [west]: {} },
};

test('a cluster is reached where its address is, this machine at the gateway, and any other cluster nowhere', () => {
  expect(endpointOf(settings, east)).toEqual({ domain: 'apps.example.org', scheme: 'https', port: 443 });
  expect(endpointOf(settings, 'docker')).toEqual({ domain: 'localhost', scheme: 'http', port: 4480 });
  expect(endpointOf(settings, west)).toBeNull();
});

test('the port of a scheme is not written', () => {
  const door = { domain: 'example.org', scheme: 'https', port: 443 } as const;
  expect(hostAt(door, 'a.example.org')).toBe('a.example.org');
  expect(hostAt({ ...door, port: 80 }, 'a.example.org')).toBe('a.example.org:80');
  expect(hostAt({ ...door, scheme: 'http', port: 80 }, 'a.example.org')).toBe('a.example.org');
});
