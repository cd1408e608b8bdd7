import { expect, test } from 'vitest';
import { config, helmSource, terraformSource } from '../testing/config.ts';
import { allKinds } from './index.ts';
import { Kinds } from './kinds.ts';

const kinds = new Kinds(allKinds);

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
  expect(kinds.of(release).name).toBe(kind);
});

test('what was never deployed has the kind that its type decides', () => {
  expect(['HELM', 'TERRAFORM', 'APPLICATION', 'JOB', null].map((type) => kinds.ofService(type).name)).toEqual([
    'CHART',
    'TERRAFORM',
    'PROCESS',
    'PROCESS',
    'PROCESS',
  ]);
  expect(kinds.ofService('JOB', config({ job })).name).toBe('JOB');
});

test('a chart has its own steps for each action', () => {
  const steps = (action: 'DEPLOY' | 'STOP' | 'UNINSTALL' | 'RESTART') =>
    kinds.ofService('HELM').plan(action, { config: null, hasImage: false });
  expect(steps('DEPLOY')).toEqual({ build: [], deploy: ['obtain-chart', 'install', 'settle-chart'] });
  expect(steps('STOP').deploy).toEqual(['unroute', 'halt-chart']);
  expect(steps('UNINSTALL').deploy).toEqual(['unroute', 'uninstall', 'remove']);
  expect(steps('RESTART').deploy).toEqual([]);
});

test('steps of one name are one step, because the journal stores the name', () => {
  const [process, ...others] = allKinds;
  const { start } = process.steps;
  if (start === undefined) throw new Error('a process has no step start');
  const copy = { ...process, name: 'COPY', steps: { start: { ...start } } };
  expect(() => new Kinds([process, ...others, copy])).toThrow('there are two steps start');
  expect(() => kinds.step('gone')).toThrow('no kind has the step gone');
});
