import { serviceStates, runningStatuses } from '@davit/contract';
import { expect, test } from 'vitest';
import { deploymentNumber, runningWords, sentence, stateWords } from './words.ts';

test('every state word of the API has a shape, and is shown word for word', () => {
  expect(stateWords.toSorted()).toEqual(serviceStates.toSorted());
  expect(runningWords.toSorted()).toEqual([...runningStatuses].sort());
  expect(stateWords.map((word) => sentence(word).toUpperCase().replaceAll(' ', '_'))).toEqual(stateWords);
  expect(['DEPLOYMENT_ERROR', 'API_TOKEN', 'AWS_STATIC'].map(sentence)).toEqual(['Deployment error', 'API token', 'AWS static']);
});

test('a deployment is called by its number in the environment', () => {
  expect(deploymentNumber('cd54dcef-0740-4a59-a4c6-847943e36cfb-12')).toBe('12');
  expect(deploymentNumber('other')).toBe('other');
});
