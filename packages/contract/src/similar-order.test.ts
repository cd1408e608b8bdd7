import { expect, test } from 'vitest';
import { withSimilarPathsTogether, withSimilarTogether } from './similar-order.ts';

test('the same action on several kinds follows one another', () => {
  const paths = { '/job/{jobId}': 1, '/job/{jobId}/stop': 2, '/container/{containerId}': 3, '/container/{containerId}/stop': 4 };
  expect(Object.values(withSimilarPathsTogether(paths))).toEqual([1, 3, 2, 4]);
});

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
