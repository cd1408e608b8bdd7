import { expect, test } from 'vitest';
import { helmSettingFault } from './helm-setting-names.ts';

test.each([
  'a',
  'image.tag',
  'hosts[0]',
  'hosts[0].name',
  'matrix[0][65536].x',
  'annotations.example\\.org/a',
  'a\\,b\\=c.d',
  'x\\[0\\]',
  'x\\{y\\}[1]',
  'nodeSelector."role"',
  'größe',
  '__proto__.a',
])('the name %j is one', (name) => {
  expect(helmSettingFault(name)).toBeNull();
});

test.each([
  '',
  '.',
  'a.',
  '.a',
  'a..b',
  '[0]',
  'a[]',
  'a[-1]',
  'a[x]',
  'a[0]b',
  'a[0',
  'a]',
  'a\\',
  'a=b',
  'a,b',
  'x[0]=/proc/self/environ,y[0]',
  'x[0],y',
  'x[0\\]=/etc/passwd',
  'x\\\\,y[0]',
  '{"a":1}',
  ' {a}',
  'a\nb',
  'a\\\nb',
  'a\0',
  'a[65537]',
  'a[000001]',
  'a' + '.a'.repeat(40),
  'a' + '[0]'.repeat(40),
  'a'.repeat(2_000),
])('the name %j is none', (name) => {
  expect(helmSettingFault(name)).not.toBeNull();
});

test('nothing that ends a name for Helm is in one without its backslash, whatever it is made of', () => {
  const signs = ['a', '.', ',', '=', '[', ']', '{', '}', '\\', '0'];
  const texts = signs.flatMap((one) =>
    signs.flatMap((two) => signs.flatMap((three) => signs.map((four) => one + two + three + four))),
  );
  const taken = texts.filter((text) => helmSettingFault(text) === null);
  expect(taken.length).toBeGreaterThan(100);
  for (const text of taken) expect(text.replaceAll(/\\./g, '')).not.toMatch(/[,={}\\]/);
});
