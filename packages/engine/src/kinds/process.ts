import { never } from '@davit/base';
import type { ReleaseConfig } from '../model.ts';
import { imageCredentials, imageSteps, noImageSteps } from './image.ts';
import type { Kind } from './kind.ts';

/**
 * Old and new instances cannot run side by side where a volume has one writer, or where the engine itself holds a port of the
 * host, or where somebody wants it so. Such a service is stopped before its new release starts.
 */
export function needsHalt(config: ReleaseConfig): boolean {
  if (config.options?.recreate === true) return true;
  return (
    config.volumes.length > 0 || config.ports.some((port) => port.protocol === 'UDP' && port.public && port.externalPort !== null)
  );
}

/** Applications, containers and databases: instances of an image. */
export const processKind: Kind = {
  name: 'PROCESS',
  steps(action, { config, hasImage }) {
    switch (action) {
      case 'DEPLOY':
      case 'RESTART': {
        const image = hasImage || action === 'RESTART' ? noImageSteps : imageSteps(config);
        const halt = config !== null && needsHalt(config) ? (['halt'] as const) : [];
        return { build: image.build, deploy: [...image.deploy, ...halt, 'start', 'ready', 'route', 'retire'] };
      }
      case 'STOP':
        return { build: [], deploy: ['unroute', 'stop'] };
      case 'DELETE':
      case 'UNINSTALL':
        return { build: [], deploy: ['unroute', 'stop', 'remove'] };
      default:
        return never(action);
    }
  },
  refusals: {},
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
