import type { ReleaseConfig } from '../model.ts';

/** The numbers of a service's row, see the migration `metrics`. */
export interface InstanceNumbers {
  readonly instances: number | null;
  readonly settled_instances: number | null;
}

/**
 * How many instances of what runs there may be now, how many of them serve, and how many are to last: those above are being taken away.
 * Those have the lowest indices.
 */
export function instanceCounts(
  { instances, settled_instances: settled }: InstanceNumbers,
  config: Pick<ReleaseConfig, 'instances'>,
): { readonly existing: number; readonly serving: number; readonly lasting: number } {
  const wanted = instances ?? config.instances;
  const had = settled ?? wanted;
  return { existing: Math.max(wanted, had), serving: Math.min(wanted, had), lasting: wanted };
}

/** Why instances cannot be added while others run; null: they can, or there is nothing to scale. */
export function scalingObstacle({
  scaling,
  volumes,
  ports,
}: Pick<ReleaseConfig, 'scaling' | 'volumes' | 'ports'>): string | null {
  if (scaling === undefined) return null;
  if (volumes.length > 0) return 'the service has storage, and a volume has one writer';
  const owned = ports.find((port) => port.protocol === 'UDP' && port.public);
  if (owned === undefined) return null;
  return `its UDP port ${owned.internalPort} is public, and a port of the machine has one owner`;
}

/**
 * How many instances a new rollout begins with: as many as served before, within its limits. Not back to the least under load. With one
 * where events may bring them to none: it is to be seen that the release gets ready.
 */
export function firstCount(
  config: Pick<ReleaseConfig, 'instances' | 'scaling' | 'volumes' | 'ports'>,
  former: (InstanceNumbers & { readonly desired: string }) | null,
): number {
  const { scaling } = config;
  const least = scaling?.events === undefined ? config.instances : Math.max(1, config.instances);
  if (scaling === undefined || scalingObstacle(config) !== null || former?.desired !== 'RUNNING' || former.instances === null)
    return least;
  return Math.max(least, Math.min(former.instances, scaling.most ?? former.instances));
}
