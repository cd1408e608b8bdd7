import { expect, test } from 'vitest';
import { parseOutputs } from './outputs.ts';

test('outputs are read with their defaults, and what is no text as JSON', () => {
  const text = '{"HOST": {"value": "db"}, "PORT": {"value": 5432, "sensitive": true, "description": "of it"}}';
  expect(parseOutputs(text)).toEqual({
    outputs: [
      { name: 'HOST', value: 'db', sensitive: false, description: null },
      { name: 'PORT', value: '5432', sensitive: true, description: 'of it' },
    ],
  });
});

test.each(['', '[]', '"x"', '{"A": "b"}', '{"A": {}}', '{"A-B": {"value": "x"}}', '{"A": null}'])('%j is refused', (text) => {
  expect(parseOutputs(text)).toHaveProperty('fault');
});
