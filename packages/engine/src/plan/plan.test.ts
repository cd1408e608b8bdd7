import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { config } from '../testing/config.ts';
import { changesBetween } from './changes.ts';
import { journalVersion } from '../store/journal.ts';
import { allKinds } from '../kinds/index.ts';
import { Kinds } from '../kinds/kinds.ts';
import { needsHalt } from '../workload/needs-halt.ts';
import { planStages, type PlanInput } from './plan.ts';

const kinds = new Kinds(allKinds);

const input = (overrides: Partial<PlanInput> = {}): PlanInput => ({
  serviceId: 'a',
  stageName: 'one',
  stagePosition: 0,
  config: config(),
  hasImage: false,
  ...overrides,
});

describe('the steps of a task', () => {
  test('of a first deployment build, start, wait, route and retire', () => {
    expect(planStages(kinds, 'DEPLOY', [input()])[0]?.tasks[0]).toEqual({
      serviceId: 'a',
      build: ['resolve', 'checkout', 'build'],
      deploy: ['start', 'ready', 'route', 'retire'],
    });
  });

  test('of a rollback and of a restart build nothing', () => {
    expect(planStages(kinds, 'DEPLOY', [input({ hasImage: true })])[0]?.tasks[0]?.build).toEqual([]);
    expect(planStages(kinds, 'RESTART', [input()])[0]?.tasks[0]?.build).toEqual([]);
  });

  test('halt the old instances first where a volume has one writer', () => {
    const volumes = [{ id: 'v', mountPath: '/data', sizeGiB: 1 }];
    expect(planStages(kinds, 'DEPLOY', [input({ config: config({ volumes }) })])[0]?.tasks[0]?.deploy[0]).toBe('halt');
    expect(needsHalt(config())).toBe(false);
  });

  test('of a stop never touch data', () => {
    expect(planStages(kinds, 'STOP', [input()])[0]?.tasks[0]?.deploy).toEqual(['unroute', 'stop']);
  });
});

const someInputs = fc.uniqueArray(
  fc.record({
    serviceId: fc.uuid(),
    stageName: fc.constantFrom('one', 'two', 'three'),
    stagePosition: fc.integer({ min: 0, max: 5 }),
    config: fc.constant(config()),
    hasImage: fc.boolean(),
  }),
  { selector: (one) => one.serviceId, maxLength: 20 },
);

describe('stages', () => {
  test('hold every service exactly once, whatever the action', () => {
    fc.assert(
      fc.property(someInputs, fc.constantFrom('DEPLOY', 'RESTART', 'STOP', 'DELETE', 'UNINSTALL'), (inputs, action) => {
        const planned = planStages(kinds, action, inputs).flatMap((stage) => stage.tasks.map((task) => task.serviceId));
        expect([...planned].sort()).toEqual(inputs.map((one) => one.serviceId).sort());
      }),
    );
  });

  test('of a deletion are those of a deployment in reverse', () => {
    fc.assert(
      fc.property(someInputs, (inputs) => {
        const order = (action: 'DEPLOY' | 'DELETE'): string[][] =>
          planStages(kinds, action, inputs).map((stage) => stage.tasks.map((task) => task.serviceId));
        expect(order('DELETE').toReversed()).toEqual(order('DEPLOY'));
      }),
    );
  });
});

describe('what changes', () => {
  test('is named by the words of the API, without values', () => {
    const former = config({
      environment: [
        { name: 'A', parts: ['one'] },
        { name: 'B', parts: ['x'] },
      ],
    });
    const next = config({
      memoryMiB: 1,
      environment: [
        { name: 'A', parts: ['two'] },
        { name: 'C', parts: [{ secret: 's' }] },
      ],
    });
    expect(changesBetween(former, next)).toEqual(['memory', 'variables.A', 'variables.B', 'variables.C']);
  });

  test('is nothing for equal configurations and for a first deployment', () => {
    expect(changesBetween(config(), config())).toEqual([]);
    const anew = { ...config(), ports: config().ports.map((port) => ({ ...port, id: randomUUID() })) };
    expect(changesBetween(config(), anew)).toEqual(['ports']);
    expect(changesBetween(null, config())).toEqual([]);
  });
});

// A runner of the previous version does not know a new step, and must not resume a deployment that has it. A change of
// the list therefore requires a new version.
test('the steps are those of this version of the journal', () => {
  const known: Readonly<Record<number, string>> = {
    1: 'resolve checkout build pull halt start ready route retire unroute stop remove launch complete clear arm obtain terraform-plan terraform-apply settle destroy forget unlock migrate obtain-chart install settle-chart diff halt-chart uninstall',
  };
  expect(kinds.stepNames.toSorted()).toEqual(known[journalVersion]?.split(' ').toSorted());
});
