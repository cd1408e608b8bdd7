import type { Action, EnvironmentView, StateWord } from '@davit/engine/port';
import { expect, test } from 'vitest';
import { lastDeploymentState } from './status.ts';

const former = (state: StateWord, running = false): EnvironmentView['last'] => ({
  deploymentId: 'd',
  executionId: 'e-1',
  state,
  running,
  at: '2026-11-25T00:00:00.000Z',
  totalMilliseconds: running ? null : 1000,
  origin: 'API',
  triggeredBy: 'somebody',
});

const view = (last: EnvironmentView['last'], waitingAction: Action | null): EnvironmentView => ({
  last,
  waitingRequestId: waitingAction === null ? null : 'r',
  waitingAction,
});

test.each<readonly [string, EnvironmentView, StateWord]>([
  ['READY before the first one', view(null, null), 'READY'],
  ['the end of the last one', view(former('DEPLOYED'), null), 'DEPLOYED'],
  ['what waits, whatever the end of the last one', view(former('DEPLOYED'), 'DEPLOY'), 'DEPLOYMENT_QUEUED'],
  ['a stop that waits after a failure', view(former('DEPLOYMENT_ERROR'), 'STOP'), 'STOP_QUEUED'],
  ['a first one that waits', view(null, 'DEPLOY'), 'DEPLOYMENT_QUEUED'],
  ['what runs, also while another one waits', view(former('DEPLOYING', true), 'STOP'), 'DEPLOYING'],
])('the state of the last deployment is %s', (_name, given, word) => {
  expect(lastDeploymentState(given)).toBe(word);
});
