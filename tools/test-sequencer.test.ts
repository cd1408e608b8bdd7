import { expect, test } from 'vitest';
import { longestFirst } from './test-sequencer.ts';

test('the crash matrix begins first, all other files keep their order', () => {
  const files = ['/a/jobs', '/a/crash-of-runs', '/a/archive', '/a/crash-of-images'].map((moduleId) => ({ moduleId }));
  expect(longestFirst(files).map(({ moduleId }) => moduleId)).toEqual([
    '/a/crash-of-runs',
    '/a/crash-of-images',
    '/a/jobs',
    '/a/archive',
  ]);
});
