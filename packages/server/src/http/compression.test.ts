import { expect, test } from 'vitest';
import { acceptedEncoding } from './compression.ts';

test.each([
  [undefined, null],
  ['', null],
  ['identity', null],
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['br;q=0.5, gzip;q=0.9', 'gzip'],
  ['br;q=0, gzip;q=0', null],
  ['*', 'br'],
  ['*;q=0', null],
  ['*;q=0.1, br;q=0', 'gzip'],
  ['GZIP ; Q=0.3', 'gzip'],
  ['gzip;q=nonsense', 'gzip'],
])('of %j the encoding is %j', (header, encoding) => {
  expect(acceptedEncoding(header, ['br', 'gzip'])).toBe(encoding);
});
