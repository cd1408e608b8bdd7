import { expect, test } from 'vitest';
import { crashCases } from '../packages/engine/src/testing/crash/cases.ts';
import { commitNumber } from '../packages/testkit/src/commit.ts';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { describeCrashes } from './crash/matrix.ts';

/*
 * Runs a part of the crash matrix on real engines. Each commit runs another part, so that about fifty commits cover the
 * whole matrix. The whole matrix runs on the cluster in memory in each test run, and on real engines every night
 * (`npm run test:crash`). The cases of a full disk need a separate file system, which only the whole matrix mounts.
 */
const shares = 48;

test('the matrix has at least two hundred cases, each with a name of its own', () => {
  expect(crashCases.length).toBeGreaterThanOrEqual(200);
  expect(new Set(crashCases.map(({ name }) => name)).size).toBe(crashCases.length);
});

const first = commitNumber();
for (const kind of testEngineKinds()) {
  const share = (first + (kind === 'podman' ? shares / 2 : 0)) % shares;
  const part = crashCases.filter(({ fault }) => fault !== 'disk full').filter((_, index) => index % shares === share);
  describeCrashes(kind, part);
}
