import type { ServiceView } from '@davit/engine/port';
import { expect, test } from 'vitest';
import { deploymentStatus, toServiceStatus } from './record.ts';

const ready: ServiceView = {
  serviceId: 's',
  state: 'READY',
  action: 'UNKNOWN',
  actionStatus: 'NEVER',
  executionId: null,
  lastDeploymentAt: null,
  isPartOfLastDeployment: false,
  steps: null,
  waitingRequestId: null,
  waitingRequests: 0,
  failure: null,
  deployedConfigHash: null,
  deployedReleaseId: null,
  deployedCommit: null,
  lastAttemptFailed: false,
  runningStatus: null,
  wantedInstances: null,
  runningInstances: null,
  conditions: [],
  terraformAction: null,
};

test.each([
  [null, false, 'NEVER_DEPLOYED'],
  [null, true, 'OUT_OF_DATE'],
  ['now', false, 'UP_TO_DATE'],
  ['then', false, 'OUT_OF_DATE'],
  ['now', true, 'OUT_OF_DATE'],
])('deployed %s with a failed latest attempt %s is %s', (deployedConfigHash, lastAttemptFailed, expected) => {
  expect(deploymentStatus({ deployedConfigHash, lastAttemptFailed }, 'now')).toBe(expected);
});

test('a service that was never deployed has the required fields and no dates', () => {
  expect(toServiceStatus(ready, 'now')).toEqual({
    id: 's',
    state: 'READY',
    service_deployment_status: 'NEVER_DEPLOYED',
    is_part_last_deployment: false,
    status_details: { action: 'UNKNOWN', status: 'NEVER', sub_action: 'NONE' },
    deployment_request_id: null,
    deployment_requests_count: 0,
    running_status: null,
    running_instances: null,
    wanted_instances: null,
    failure: null,
    release_id: null,
  });
});

test('waiting counts for the whole duration, not for the computing one', () => {
  const details = [
    { metric: 'BUILD_QUEUEING', status: 'SUCCESS' as const, durationMilliseconds: 60_000 },
    { metric: 'BUILD', status: 'SUCCESS' as const, durationMilliseconds: 2400 },
    { metric: 'DEPLOYMENT', status: 'ERROR' as const, durationMilliseconds: 2400 },
  ];
  const { steps } = toServiceStatus({ ...ready, steps: { details, totalMilliseconds: 64_800 } }, 'now');
  expect(steps).toMatchObject({ total_duration_sec: 65, total_computing_duration_sec: 5 });
  expect(steps?.details[1]).toEqual({ step_name: 'BUILD', status: 'SUCCESS', duration_sec: 2, duration_ms: 2400 });
  expect(toServiceStatus({ ...ready, steps: { details, totalMilliseconds: null } }, 'now').steps?.total_duration_sec).toBeNull();
});
