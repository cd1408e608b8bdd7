import { expect, test } from 'vitest';
import { isHostOrNetwork, isPrivateAddress, reachable } from './addresses.ts';

test.each([
  '127.0.0.1',
  '10.1.2.3',
  '172.31.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '0.0.0.0',
  '100.64.0.1',
  '224.0.0.1',
  '192.0.2.1',
  'no address',
])('%s is private', (address) => expect(isPrivateAddress(address)).toBe(true));

test.each([
  '::',
  '::1',
  'fe80::1',
  'fd00::1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:7f00:1',
  '2001:db8::1',
  '64:ff9b::a00:1',
  '2002:7f00:1::',
  'ff02::1',
])('%s is private', (address) => expect(isPrivateAddress(address)).toBe(true));

test.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1', '2606:4700::1111', '::ffff:8.8.8.8'])(
  '%s is public',
  (address) => expect(isPrivateAddress(address)).toBe(false),
);

test('private addresses are reached where the operator names host, address or network', () => {
  const some = reachable(['git.home.example', '192.168.7.0/24', 'fd00::7']);
  expect(some('8.8.8.8', 'dns.example')).toBe(true);
  expect(some('10.0.0.1', 'git.home.example')).toBe(true);
  expect(some('10.0.0.1', 'GIT.home.example')).toBe(true);
  expect(some('10.0.0.1', 'other.example')).toBe(false);
  expect(some('192.168.7.9', '192.168.7.9')).toBe(true);
  expect(some('192.168.8.9', '192.168.8.9')).toBe(false);
  expect(some('fd00::7', 'x')).toBe(true);
  expect(some('::ffff:127.0.0.1', 'x')).toBe(false);
  expect(reachable(true)('127.0.0.1', 'localhost')).toBe(true);
  expect(reachable(false)('127.0.0.1', 'localhost')).toBe(false);
});

test.each(['git', 'git.home.example', '10.0.0.0/8', '10.0.0.1', 'fd00::/8'])('%s is a place', (text) =>
  expect(isHostOrNetwork(text)).toBe(true),
);
test.each(['', 'a b', 'http://git', '10.0.0.0/33', 'git/8', '1.2.3.4/5/6', '*.example'])('%s is none', (text) =>
  expect(isHostOrNetwork(text)).toBe(false),
);
