import { expect, test } from 'vitest';
import { targetProblem } from './target.ts';

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
