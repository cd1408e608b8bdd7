import Type from 'typebox';
import { expect, test } from 'vitest';
import { referring, type Shapes } from './references.ts';
import { about, enumeration, Named, Nullable, words, Words } from './shape.ts';

const colors = enumeration('Color', { RED: 'As a tomato.', BLUE: 'As the sky.' }, 'The color of a thing.');
const Thing = Named('Thing', Type.Object({ color: Words(colors, { default: 'RED' }) }), 'A thing.');

test('a named shape stands once, and what a place adds stands beside the reference', () => {
  const shapes: Shapes = new Map();
  const used = Type.Object({
    one: about('The first thing.', Thing),
    other: Type.Optional(about('The other thing, if any.', Nullable(Thing))),
    color: Nullable(Words(colors)),
  });

  expect(JSON.parse(JSON.stringify(referring(used, shapes)))).toEqual({
    type: 'object',
    required: ['one', 'color'],
    properties: {
      one: { $ref: '#/components/schemas/Thing', description: 'The first thing.' },
      other: {
        anyOf: [{ $ref: '#/components/schemas/Thing' }, { type: 'null' }],
        description: 'The other thing, if any.',
      },
      color: { anyOf: [{ $ref: '#/components/schemas/Color' }, { type: 'null' }] },
    },
  });
  expect(shapes.get('Color')).toEqual({
    type: 'string',
    enum: ['RED', 'BLUE'],
    description: 'The color of a thing.\n\n- `RED`: As a tomato.\n- `BLUE`: As the sky.',
  });
  expect(shapes.get('Thing')).toMatchObject({
    description: 'A thing.',
    properties: { color: { $ref: '#/components/schemas/Color', default: 'RED' } },
  });
});

test('two different shapes under one name are refused', () => {
  const both = [Thing, Named('Thing', Type.Object({ size: Type.Integer() }))];
  expect(() => referring(both, new Map())).toThrow('Two different shapes are named Thing');
});

test('words lose the indentation of the source; lists and tables keep their lines', () => {
  const text = `
    One sentence
    on two lines.

    - an item
      that goes on
    - another

    | a | b |
    |---|---|
  `;
  expect(words(text)).toBe('One sentence on two lines.\n\n- an item that goes on\n- another\n\n| a | b |\n|---|---|');
});
