import { expect, test } from 'vitest';
import type { JobEvent, JobRelease } from '../../model.ts';
import { config } from '../../testing/config.ts';
import { launch } from './steps.ts';
import { endSeconds } from '../process/former.ts';
import { start } from '../process/steps.ts';
import type { Step, StepContext } from '../../steps/step.ts';

const command = { entrypoint: ['/up'], arguments: [] };

function contextOf(event: JobEvent): StepContext {
  const job: JobRelease = { maximumSeconds: 10, maximumRestarts: 0, events: { [event]: command }, schedule: null };
  const context = {
    deployment: { action: 'DEPLOY' },
    task: { name: 'migrate', forcedEvent: event, config: config({ job }) },
    parts: { settings: { drainSeconds: 30, terminationGraceSeconds: 30 } },
  };
  return context as unknown as StepContext; // oxlint-disable-line typescript/no-unsafe-type-assertion -- all that is looked at
}

function deadlineOf({ deadlineSeconds }: Step, event: JobEvent): number {
  return typeof deadlineSeconds === 'number' ? deadlineSeconds : deadlineSeconds(contextOf(event));
}

test.each(['START', 'STOP', 'DELETE', 'CRON'] as const)(
  'the run of a job (%s) has as long to be started as instances that stay, which also wait for the end of former ones',
  (event) => {
    expect(deadlineOf(launch, event)).toBeGreaterThanOrEqual(deadlineOf(start, event) - endSeconds(contextOf(event)));
  },
);
