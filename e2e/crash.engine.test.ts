import { expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { crashCases } from './crash/cases.ts';
import { describeCrashes } from './crash/matrix.ts';

/*
 * A part of the crash matrix: `npm run test:crash` does all of it. Each engine gets other cases. A full disk needs a disk of its
 * own, which only the whole matrix mounts.
 */
const share = 12;
const kinds = testEngineKinds();

test('the matrix has at least two hundred cases, each with a name of its own', () => {
  expect(crashCases.length).toBeGreaterThanOrEqual(200);
  expect(new Set(crashCases.map(({ name }) => name)).size).toBe(crashCases.length);
});

for (const [offset, kind] of kinds.entries()) {
  const part = crashCases.filter(({ fault }) => fault !== 'disk full').filter((_, index) => index % share === offset);
  describeCrashes(kind, part);
}
