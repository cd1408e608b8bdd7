import { expect, test } from 'vitest';
import type { JobEvent, JobRelease } from '../../model.ts';
import { config } from '../../testing/config.ts';
import { launch } from './steps.ts';
import { start } from '../process/steps.ts';
import type { Step, StepContext } from '../../steps/step.ts';

const command = { entrypoint: ['/up'], arguments: [] };

function deadlineOf({ deadlineSeconds }: Step, event: JobEvent): number {
  const job: JobRelease = { maximumSeconds: 10, maximumRestarts: 0, events: { [event]: command }, schedule: null };
  const context = { deployment: { action: 'DEPLOY' }, task: { name: 'migrate', forcedEvent: event, config: config({ job }) } };
  if (typeof deadlineSeconds === 'number') return deadlineSeconds;
  return deadlineSeconds(context as unknown as StepContext); // oxlint-disable-line typescript/no-unsafe-type-assertion -- all that is looked at
}

test.each(['START', 'STOP', 'DELETE', 'CRON'] as const)(
  'the run of a job (%s) has as long to be started as instances that stay: the same is waited for',
  (event) => {
    expect(deadlineOf(launch, event)).toBeGreaterThanOrEqual(deadlineOf(start, event));
  },
);
