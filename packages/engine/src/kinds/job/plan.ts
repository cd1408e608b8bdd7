import { never } from '@davit/base';
import type { Action, JobEvent, JobRelease } from '../../model.ts';
import type { Steps, StepsInput } from '../../plan/plan.ts';
import { planImage, type ImageStep } from '../image-plan.ts';

export type JobStep = ImageStep | 'launch' | 'complete' | 'clear' | 'arm' | 'unroute' | 'stop' | 'remove';

const eventOfAction: Readonly<Record<Action, JobEvent | null>> = {
  DEPLOY: 'START',
  RESTART: null,
  STOP: 'STOP',
  DELETE: 'DELETE',
  UNINSTALL: 'DELETE',
};

/**
 * Returns the event of a job that an action runs, or that was requested explicitly; null if the job has no such event.
 */
export function eventOf(action: Action, job: JobRelease | undefined, forced: JobEvent | null): JobEvent | null {
  const event = forced ?? eventOfAction[action];
  return event !== null && job?.events[event] !== undefined ? event : null;
}

export function planJob(action: Action, input: StepsInput): Steps<JobStep> {
  const hasRun = eventOf(action, input.config?.job, input.event ?? null) !== null;
  const run = hasRun ? (['launch', 'complete', 'clear'] as const) : [];
  switch (action) {
    case 'DEPLOY':
    case 'RESTART': {
      const image = planImage(action, input);
      return { build: image.build, deploy: [...image.deploy, ...run, 'arm'] };
    }
    case 'STOP':
      return { build: [], deploy: [...run, 'unroute', 'stop'] };
    case 'DELETE':
    case 'UNINSTALL':
      return { build: [], deploy: [...run, 'unroute', 'stop', 'remove'] };
    default:
      return never(action);
  }
}
