import { expect, test } from 'vitest';
import { isPrivateAddress, targetProblem } from './target.ts';

test.each([
  '127.0.0.1',
  '10.1.2.3',
  '172.31.255.255',
  '192.168.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '::1',
  '::',
  'fd00::1',
  'fe80::1',
  '::ffff:10.0.0.1',
  '::ffff:7f00:1',
  '64:ff9b::a00:1',
  'no address',
])('%s is private', (address) => expect(isPrivateAddress(address)).toBe(true));

test.each(['8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])('%s is public', (address) =>
  expect(isPrivateAddress(address)).toBe(false),
);

test.each([
  'ftp://example.org/',
  'example.org',
  'https:example.org',
  '//example.org',
  'javascript:alert(1)',
  'http://',
  'https://user:secret@example.org/',
])('%s is no target', (url) => expect(targetProblem(url, true)).toMatch(/^must/));

test.each([
  'http://localhost/',
  'http://a.localhost:80/',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f.0.0.1/',
  'http://[::1]/',
  'http://[::ffff:10.0.0.1]/',
  'http://169.254.169.254/latest',
])('%s is a target only where private ones are allowed', (url) => {
  expect(targetProblem(url, false)).toMatch('DAVIT_ALLOW_PRIVATE_TARGETS');
  expect(targetProblem(url, true)).toBeUndefined();
});

test('a public URL is a target', () => expect(targetProblem('https://hooks.example.org/x?y=1', false)).toBeUndefined());
