import { expect, test } from 'vitest';
import { exampleOf } from './examples.ts';

test('an operation has an example, and a name that is no operation has none', () => {
  expect(exampleOf('createProject')).toMatchObject({ status: 201, request: { name: 'shop' } });
  expect(exampleOf('toString')).toBeUndefined();
});
