import { expect, test } from 'vitest';
import { config } from '../testing/config.ts';
import { entryOf, noDomains, tableOf } from './gateway-table.ts';

const [port] = config().ports;
const served = (hosts: readonly string[], more: object = {}) =>
  entryOf(config({ ports: port === undefined ? [] : [{ ...port, hosts }], ...more }), []);
const certificate = { host: '*.example.com', pem: 'pem', redirect: true, isOwn: true } as const;

test('a host below a wildcard of Davit is redirected to HTTPS, unless its service asks for plain HTTP', () => {
  const services = new Map([
    ['a', served(['a.example.com'])],
    ['b', served(['b.example.com'], { options: { plainHttp: true } })],
  ]);
  const table = tableOf(services, { ...noDomains, certificates: [certificate] });
  expect(table.redirects).toEqual(['a.example.com']);
  expect(table.certificates).toEqual([{ host: '*.example.com', pem: 'pem', redirect: false }]);
});

test('a certificate of a host without a route is not served', () => {
  const certificates = [{ host: 'other.test', pem: 'pem', redirect: false }];
  expect(tableOf(new Map([['a', served(['a.example.com'])]]), { ...noDomains, certificates }).certificates).toBeUndefined();
});
