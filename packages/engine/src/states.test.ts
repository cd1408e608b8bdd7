import { describe, expect, test } from 'vitest';
import {
  actionStatusOf,
  actionWord,
  deploymentState,
  environmentState,
  eventState,
  isFinished,
  phases,
  stateOf,
  type StateWord,
} from './states.ts';

const actions = ['DEPLOY', 'RESTART', 'STOP', 'DELETE', 'UNINSTALL'] as const;

describe('the state of a service', () => {
  test.each([
    ['DEPLOY', 'QUEUED', 'DEPLOYMENT_QUEUED'],
    ['DEPLOY', 'BUILDING', 'BUILDING'],
    ['DEPLOY', 'BUILD_FAILED', 'BUILD_ERROR'],
    ['RESTART', 'WORKING', 'RESTARTING'],
    ['STOP', 'SUCCEEDED', 'STOPPED'],
    ['DELETE', 'WAITING', 'WAITING_DELETING'],
    ['UNINSTALL', 'SUCCEEDED', 'READY'],
  ] as const)('of %s in phase %s is %s', (action, phase, word) => {
    expect(stateOf(action, phase)).toBe(word);
  });

  test('ends in ERROR exactly when its phase failed', () => {
    for (const action of actions) {
      for (const phase of phases) {
        expect(stateOf(action, phase).endsWith('_ERROR')).toBe(actionStatusOf(action, phase) === 'ERROR');
      }
    }
  });

  test('is terminal for clients exactly when its phase is finished', () => {
    const terminal = /^(DEPLOYED|DELETED|STOPPED|CANCELED|READY|RESTARTED|.*_ERROR)$/;
    for (const action of actions) {
      for (const phase of phases) expect(terminal.test(stateOf(action, phase))).toBe(isFinished(phase));
    }
  });

  test('tells an uninstall as a deletion', () => {
    expect(actionWord('UNINSTALL')).toBe('DELETE');
  });
});

describe('the state of an environment', () => {
  test('knows every word that a service can have', () => {
    for (const action of actions) {
      for (const phase of phases) {
        const word = stateOf(action, phase);
        expect(environmentState([word])).toBe(word);
      }
    }
  });

  test.each<[readonly StateWord[], StateWord | null]>([
    [['DEPLOYED', 'BUILDING', 'DEPLOYMENT_ERROR'], 'BUILDING'],
    [['DEPLOYED', 'DEPLOYMENT_ERROR'], 'DEPLOYMENT_ERROR'],
    [['DEPLOYED', 'READY'], 'DEPLOYED'],
    [['STOPPED', 'READY'], 'STOPPED'],
    [[], null],
  ])('of %j is %s', (services, expected) => {
    expect(environmentState(services)).toBe(expected);
  });

  test('after a deployment says whether a build or a deploy failed', () => {
    expect(deploymentState('DEPLOY', 'FAILED', true)).toBe('BUILD_ERROR');
    expect(deploymentState('DEPLOY', 'FAILED', false)).toBe('DEPLOYMENT_ERROR');
    expect(deploymentState('STOP', 'SUCCEEDED', false)).toBe('STOPPED');
    expect(deploymentState('STOP', 'CANCELED', false)).toBe('CANCELED');
  });
});

describe('the word in an event of a deployment', () => {
  test.each(actions)('of %s is the state of a service, except that an uninstall reports DELETED', (action) => {
    const same = action === 'UNINSTALL' ? 'DELETE' : action;
    expect(eventState(action, 'RUNNING')).toBe(stateOf(same, 'WORKING'));
    expect(eventState(action, 'SUCCEEDED')).toBe(stateOf(same, 'SUCCEEDED'));
    expect(eventState(action, 'FAILED')).toBe(stateOf(same, 'FAILED'));
    expect(eventState(action, 'CANCELED')).toBe('CANCELED');
  });
});
