import { expect, test } from 'vitest';
import { findLongFiles } from './length-check.ts';

const text = (lines: number): string => 'export {};\n'.repeat(lines);

test('a source file of more than 400 lines is refused, and a test of that length is not', () => {
  const sources = new Map([
    ['packages/a/src/long.ts', text(401)],
    ['packages/a/src/full.ts', text(400)],
    ['packages/a/src/long.db.test.ts', text(401)],
  ]);
  expect(findLongFiles(sources)).toEqual([{ file: 'packages/a/src/long.ts', lines: 401 }]);
});
