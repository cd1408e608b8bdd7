import { expect, test } from 'vitest';
import { config, helmSource, terraformSource } from '../testing/config.ts';
import { kindOf, kindOfService } from './index.ts';

const job = { events: { START: { entrypoint: [], arguments: [] } }, schedule: null, maximumRestarts: 0, maximumSeconds: null };
const image = { type: 'IMAGE', image: 'x', tag: '1', registryId: null } as const;

test.each([
  ['an application', config(), 'PROCESS'],
  ['a container', config({ source: image }), 'PROCESS'],
  ['a job that is built', config({ job }), 'JOB'],
  ['a job of an image', config({ source: image, job }), 'JOB'],
  ['a chart', config({ source: helmSource() }), 'CHART'],
  ['a Terraform configuration', config({ source: terraformSource() }), 'TERRAFORM'],
])('the kind of %s is known from its release', (_name, release, kind) => {
  expect(kindOf(release).name).toBe(kind);
});

test('what was never deployed has the kind that its type decides', () => {
  expect(['HELM', 'TERRAFORM', 'APPLICATION', 'JOB', null].map((type) => kindOfService(type).name)).toEqual([
    'CHART',
    'TERRAFORM',
    'PROCESS',
    'PROCESS',
    'PROCESS',
  ]);
  expect(kindOfService('JOB', config({ job })).name).toBe('JOB');
});

test('a chart has its own steps for each action', () => {
  const steps = (action: 'DEPLOY' | 'STOP' | 'UNINSTALL' | 'RESTART') =>
    kindOfService('HELM').steps(action, { config: null, hasImage: false });
  expect(steps('DEPLOY')).toEqual({ build: [], deploy: ['obtain-chart', 'install', 'settle-chart'] });
  expect(steps('STOP').deploy).toEqual(['unroute', 'halt-chart']);
  expect(steps('UNINSTALL').deploy).toEqual(['unroute', 'uninstall', 'remove']);
  expect(steps('RESTART').deploy).toEqual([]);
});
