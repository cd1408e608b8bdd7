import { expect, test } from 'vitest';
import { withSimilarTogether } from './similar-order.ts';

test('a shape is followed by the one that shares most with it', () => {
  const shapes: [string, object][] = [
    ['Address', { street: 'A street of a town.', town: 'The name of a town.' }],
    ['Boat', { length: 'Its length in metres.' }],
    ['Home', { street: 'A street of a town.', floor: 'The floor.' }],
    ['Anchor', { weight: 'Its weight.' }],
  ];
  expect(Object.keys(withSimilarTogether(shapes))).toEqual(['Address', 'Home', 'Anchor', 'Boat']);
  expect(withSimilarTogether(shapes.toReversed())).toEqual(Object.fromEntries(shapes));
  expect(Object.keys(withSimilarTogether(shapes.toReversed()))).toEqual(Object.keys(withSimilarTogether(shapes)));
});
