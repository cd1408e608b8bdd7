import { expect, test } from 'vitest';
import { changedValue } from './changed-values.ts';

const none = (): undefined => undefined;

test('a value differs from what is there, down to its last member', () => {
  const schema = {
    type: 'object',
    properties: {
      on: { type: 'boolean' },
      word: { enum: ['a', 'b', null] },
      count: { anyOf: [{ type: 'null' }, { type: 'integer', minimum: 1, maximum: 3 }] },
      names: { type: 'array', items: { type: 'string' } },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
    },
  };
  const now = { on: true, word: 'a', count: 3, names: ['x'], labels: {} };
  expect(changedValue(schema, { location: 'it', now, own: none })).toEqual({
    on: false,
    word: 'b',
    count: 1,
    names: ['kept-0'],
    labels: { kept: 'kept-kept' },
  });
});

test('what is known of a place goes before its schema', () => {
  const schema = { type: 'array', items: { type: 'object', properties: { id: { type: 'string' }, size: { type: 'integer' } } } };
  const own = (location: string): unknown => (location === 'list.0.id' ? 'mine' : undefined);
  expect(changedValue(schema, { location: 'list', now: undefined, own })).toEqual([{ id: 'mine', size: 2 }]);
});
