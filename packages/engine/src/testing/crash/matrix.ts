import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { casesInMemory, type SubjectName } from './cases.ts';
import { Survival } from './survival.ts';

/**
 * Defines tests that interrupt every action on these kinds of services at each step, on the cluster in memory.
 * `npm run test:crash` does the same with real processes on real engines.
 */
export function describeCrashesInMemory(subjects: readonly SubjectName[]): void {
  describe('what is interrupted comes to its end by itself', () => {
    const cases = casesInMemory.filter(({ subject }) => subjects.includes(subject));
    let survival: Survival;
    beforeAll(async () => {
      survival = await Survival.open();
    });
    afterAll(() => survival?.close());

    test('each case has a name of its own', () => {
      expect(cases.length).toBeGreaterThan(300);
      expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    });

    test.for(cases.map((one) => [one.name, one] as const))('%s', async ([, one]) => {
      // A failed case reports the mismatch itself.
      await expect(survival.run(one)).resolves.toBeUndefined();
    });
  });
}
