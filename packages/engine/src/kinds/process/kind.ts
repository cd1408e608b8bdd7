import { remove, stop, unroute } from '../../steps/removal.ts';
import { gitSourceOf, imageSourceOf } from '../../workload/image-source.ts';
import { imageCredentials, imageSteps } from '../image.ts';
import type { Kind } from '../kind.ts';
import { keepInstances } from './keep.ts';
import { planProcess, type ProcessStep } from './plan.ts';
import { halt, ready, retire, route, start } from './steps.ts';

/** Applications, containers and databases: services whose instances run an image. */
export const processKind: Kind<ProcessStep> = {
  name: 'PROCESS',
  serviceTypes: [],
  owns: (config) => config.job === undefined && (imageSourceOf(config) ?? gitSourceOf(config)) !== null,
  steps: { ...imageSteps, halt, start, ready, route, retire, unroute, stop, remove },
  plan: planProcess,
  refusals: {},
  keep: keepInstances,
  hasLastingInstances: true,
  hasOwnContainers: true,
  isServing: true,
  hasImage: true,
  isRedeployedWithoutImage: false,
  isExecuted: false,
  runsWhenTakenDown: false,
  variableWord: 'APPLICATION',
  credentials: imageCredentials,
  values: () => [],
};
