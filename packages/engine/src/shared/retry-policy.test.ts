import { DatabaseUnavailable } from '@davit/db';
import { DriverError } from '@davit/drivers';
import { expect, test } from 'vitest';
import { ClusterUnreachable } from './cluster-drivers.ts';
import { isTransient, retryPolicy } from './retry-policy.ts';

const cause = 'ENGINE_UNREACHABLE';

test.each([
  ['an unreachable database', new DatabaseUnavailable(undefined), true, true],
  ['a failure that a driver calls retryable', new DriverError({ cause, message: 'refused', retryable: true }), true, true],
  ['another failure of a driver', new DriverError({ cause, message: 'refused' }), false, false],
  ['an unreachable cluster', new ClusterUnreachable({ id: 'one', name: 'one' }, 'it is off'), false, true],
  ['any other error', new Error('a fault of Davit'), false, false],
])('%s: retried in place %s, left for later %s', (_, error, inPlace, forLater) => {
  expect([isTransient(error), isTransient(error, { unreachableCluster: true })]).toEqual([inPlace, forLater]);
});

test('the pauses of the policy begin with the setting, and grow to its eightfold', () => {
  expect(retryPolicy({})).toEqual({ attempts: 6, firstPauseMilliseconds: 500, maximumPauseMilliseconds: 4_000 });
  expect(retryPolicy({ firstRetryMilliseconds: 10 })).toMatchObject({ firstPauseMilliseconds: 10, maximumPauseMilliseconds: 80 });
});
