import { never } from '@davit/base';
import type { Action, JobEvent, JobRelease } from '../model.ts';
import type { StepName } from '../plan/plan.ts';
import { imageCredentials, imageSteps, noImageSteps } from './image.ts';
import type { Kind } from './kind.ts';

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

/** A job: it runs to its end at its events. */
export const jobKind: Kind = {
  name: 'JOB',
  steps(action, { config, hasImage, event }) {
    const hasRun = eventOf(action, config?.job, event ?? null) !== null;
    const run: readonly StepName[] = hasRun ? ['launch', 'complete', 'clear'] : [];
    switch (action) {
      case 'DEPLOY':
      case 'RESTART': {
        const image = hasImage || action === 'RESTART' ? noImageSteps : imageSteps(config);
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
  },
  refusals: {},
  hasLastingInstances: false,
  hasOwnContainers: true,
  isServing: false,
  hasImage: true,
  isRedeployedWithoutImage: false,
  isExecuted: false,
  runsWhenTakenDown: true,
  variableWord: 'JOB',
  credentials: imageCredentials,
  values: () => [],
};
