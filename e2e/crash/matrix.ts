import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasTerraform } from '../../packages/drivers/src/terraform/testing.ts';
import type { EngineKind } from '../../packages/testkit/src/engines.ts';
import type { CrashCase, EngineSubjectName } from '../../packages/engine/src/testing/crash/cases.ts';
import { openMatrix } from './open.ts';
import { ends, type Survived } from './survival.ts';

/** Defines tests of these cases on an engine, in their order. All cases of a subject share its service. */
export function describeCrashes(kind: EngineKind, cases: readonly CrashCase<EngineSubjectName>[]): void {
  describe(`what is interrupted on ${kind} comes to its end by itself`, () => {
    let matrix: Awaited<ReturnType<typeof openMatrix>>;
    const survived: Survived[] = [];
    beforeAll(async () => {
      matrix = await openMatrix(kind);
    });
    afterAll(() => matrix?.close());

    test.for(cases.map((one) => [one.name, one] as const))('%s', async ([, one], { skip }) => {
      skip(one.subject === 'terraform' && !hasTerraform, 'Terraform is not installed');
      const { state, times } = await matrix.survival.run(one);
      expect(state).toBe(ends[one.action]);
      if (times !== null) survived.push(times);
    });

    test('every restart went on within moments', () => {
      const resumed = survived.map((times) => times.resumed);
      // The test compares medians, because a shared machine can delay any single start. The limit grows with the
      // response time of the server, because the deployment may wait for the server.
      const allowed = Math.max(2_000, 2 * median(survived.map(({ answered }) => answered)));
      expect(resumed.length).toBeGreaterThan(0);
      expect(median(resumed)).toBeLessThan(allowed);
    });
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
