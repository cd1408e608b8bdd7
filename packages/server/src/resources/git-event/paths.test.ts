import { expect, test } from 'vitest';
import { covers, filesThatCount, takesAll } from './paths.ts';

test.each([
  ['services/web', 'services/web/index.ts', true],
  ['/services/web/', 'services/web/index.ts', true],
  ['./services/web', 'services/web', true],
  ['services/web', 'services/website/index.ts', false],
  ['services/web', 'other/services/web/index.ts', false],
  ['/', 'README.md', true],
  ['*.md', 'README.md', true],
  ['*.md', 'docs/README.md', false],
  ['**/*.md', 'docs/a/README.md', true],
  ['**/*.md', 'README.md', true],
  ['services/*/package.json', 'services/web/package.json', true],
  ['services/*/package.json', 'services/web/src/package.json', false],
  ['docs/**', 'docs/a/b.md', true],
  ['a.b', 'axb', false],
  ['a(b)+', 'a(b)+/c', true],
  ['?.ts', 'a.ts', true],
  ['größe', 'größe/x', true],
])('%s covers %s: %s', (pattern, file, expected) => expect(covers(pattern, file)).toBe(expected));

const files = ['services/web/a.ts', 'services/web/README.md', 'lib/b.ts', 'docs/c.md'];

test('without a restriction the files below root_path count', () => {
  expect(filesThatCount(files, { rootPath: '/services/web', match: [], exclude: [] })).toEqual(files.slice(0, 2));
  expect(filesThatCount(files, { rootPath: '/', match: [], exclude: [] })).toEqual(files);
});

test('MATCH says what counts instead of root_path, EXCLUDE takes away from either', () => {
  expect(filesThatCount(files, { rootPath: '/services/web', match: ['lib'], exclude: [] })).toEqual(['lib/b.ts']);
  expect(filesThatCount(files, { rootPath: '/services/web', match: [], exclude: ['**/*.md'] })).toEqual(['services/web/a.ts']);
  expect(filesThatCount(files, { rootPath: '/', match: ['docs', 'lib'], exclude: ['docs'] })).toEqual(['lib/b.ts']);
});

test('only a service of the whole repository without restrictions takes all', () => {
  expect(takesAll({ rootPath: '/', match: [], exclude: [] })).toBe(true);
  expect(takesAll({ rootPath: '/', match: [], exclude: ['docs'] })).toBe(false);
  expect(takesAll({ rootPath: '/web', match: [], exclude: [] })).toBe(false);
});

test('a pattern that is made to take long does not', () => {
  const started = performance.now();
  expect(covers(`${'**/*a*/'.repeat(70)}b`, `${'aaaa/'.repeat(400)}c`)).toBe(false);
  expect(performance.now() - started).toBeLessThan(1000);
});
