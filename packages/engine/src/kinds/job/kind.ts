import { remove, stop, unroute } from '../../steps/removal.ts';
import { imageCredentials, imageSteps } from '../image.ts';
import type { Kind } from '../kind.ts';
import { keepJob } from './keep.ts';
import { planJob, type JobStep } from './plan.ts';
import { arm, clear, complete, launch } from './steps.ts';

/** A job: it runs to its end at its events. */
export const jobKind: Kind<JobStep> = {
  name: 'JOB',
  serviceTypes: [],
  owns: ({ job }) => job !== undefined,
  steps: { ...imageSteps, launch, complete, clear, arm, unroute, stop, remove },
  plan: planJob,
  refusals: {},
  keep: keepJob,
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
