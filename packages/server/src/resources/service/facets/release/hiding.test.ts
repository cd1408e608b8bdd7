import { expect, test } from 'vitest';
import { hiding } from './hiding.ts';

const field = (path: string, value: string | null) => ({ path, value, mark: value === null ? 'secret' : `plain ${value}` });
const release = [
  field('variables.PASSWORD', 'sesame-open'),
  field('variables.URL', 'pg://me:sesame-open@host'),
  field('variables.KEY', null),
  field('variables.MODE', 'fast'),
  field('variables.SHORT', 'a'),
  field('arguments', '["--key=\\"quoted\\"\\nline"]'),
];

test('a variable that became a secret shows no former value, and no other text shows it', () => {
  const { setting } = hiding(new Set(['variables.PASSWORD', 'variables.SHORT']), ['sesame-open', 'a']);
  const shown = release.map(setting);
  expect(shown.filter(({ secret }) => secret).map(({ path }) => path)).toEqual([
    'variables.PASSWORD',
    'variables.URL',
    'variables.KEY',
    'variables.SHORT',
  ]);
  expect(JSON.stringify(shown)).not.toContain('sesame');
  expect(shown.find(({ path }) => path === 'variables.MODE')).toMatchObject({ value: 'fast', secret: false });
});

test('one secret value of a pair hides both', () => {
  const { pair } = hiding(new Set(), []);
  expect(pair(field('variables.A', 'plain'), field('variables.A', null))).toEqual({ before: null, after: null, secret: true });
  expect(pair(undefined, field('variables.B', 'new'))).toEqual({ before: null, after: 'new', secret: false });
});

test('a former value is also found in a list, where it is escaped', () => {
  const { setting } = hiding(new Set(['variables.KEY']), ['"quoted"\nline']);
  expect(setting(field('arguments', '["--key=\\"quoted\\"\\nline"]'))).toMatchObject({ value: null, secret: true });
});
