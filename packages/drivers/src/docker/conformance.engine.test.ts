import { beforeAll, describe, expect, it } from 'vitest';
import { testEngineKinds } from '@davit/testkit/engines';
import { conformsToClusterDriver } from '../conformance/index.ts';
import { openTestBed, subjectOf, type TestBed } from './testing.ts';

const kinds = testEngineKinds();

describe.skipIf(kinds.length === 0)('the docker driver', () => {
  it('has a real engine to be tested on', () => expect(kinds).not.toEqual([]));
});

for (const kind of kinds) {
  for (const reach of ['direct', 'published'] as const) {
    describe(`the docker driver on ${kind}, instances reached ${reach}`, () => {
      let bed: TestBed;
      beforeAll(async () => (bed = await openTestBed(kind, reach)));
      conformsToClusterDriver('it', { describe, it, expect }, () => subjectOf(bed));
    });
  }
}
