import type { ReleaseConfig } from '../model.ts';

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
