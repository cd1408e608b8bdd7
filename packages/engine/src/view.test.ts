import { expect, test } from 'vitest';
import { queueingSteps } from './view.ts';

const second = (number: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, number)).toISOString();

/** Returns a step that is done, with the seconds of its beginning and end. */
const step = (metric: string, from: number, to: number) =>
  ({ metric, status: 'DONE', started_at: second(from), finished_at: second(to) }) as const;

const queueing = (metric: string, seconds: number) => ({ metric, status: 'SUCCESS', durationMilliseconds: 1_000 * seconds });

test('the wait for a build is counted before the commit is looked up and after it', () => {
  const build = [step('GIT_CLONE', 2, 3), step('GIT_CLONE', 33, 34), step('BUILD', 34, 60)];
  expect(queueingSteps(build, second(0))).toEqual([queueing('BUILD_QUEUEING', 32)]);
  expect(queueingSteps([...build, step('DEPLOYMENT', 65, 70)], second(0))).toEqual([
    queueing('BUILD_QUEUEING', 32),
    queueing('DEPLOYMENT_QUEUEING', 5),
  ]);
});

test('a service that is not built waits for its deployment alone, and one that has not begun has no waits yet', () => {
  const waiting = { status: 'PENDING', started_at: null, finished_at: null } as const;
  expect(queueingSteps([step('DEPLOYMENT', 4, 5)], second(0))).toEqual([queueing('DEPLOYMENT_QUEUEING', 4)]);
  expect(queueingSteps([{ ...waiting, metric: 'BUILD' }], second(0))).toEqual([]);
  expect(queueingSteps([step('GIT_CLONE', 2, 3), { ...waiting, metric: 'BUILD' }], second(0))).toEqual([
    queueing('BUILD_QUEUEING', 2),
  ]);
});
