import { never } from '@davit/base';
import type { ReleaseConfig } from '../model.ts';
import { imageCredentials, imageSteps, noImageSteps } from './image.ts';
import type { Kind } from './kind.ts';

/**
 * Returns whether the service must stop before its new release starts. This is so where old and new instances cannot
 * run side by side:
 * - a volume has one writer;
 * - the engine itself holds a port of the host;
 * - the release asks for it.
 */
export function needsHalt(config: ReleaseConfig): boolean {
  if (config.options?.recreate === true) return true;
  return (
    config.volumes.length > 0 || config.ports.some((port) => port.protocol === 'UDP' && port.public && port.externalPort !== null)
  );
}

/** Applications, containers and databases: services whose instances run an image. */
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
