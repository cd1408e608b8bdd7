import type { ReleaseConfig } from '../model.ts';

/** The wanted and the settled number of instances in the row of a service; see the migration `metrics`. */
export interface InstanceNumbers {
  readonly instances: number | null;
  readonly settled_instances: number | null;
}

/**
 * Returns the numbers of instances of the current rollout:
 *
 * - `existing`: how many may exist now.
 * - `serving`: how many receive requests.
 * - `lasting`: how many remain; the instances above are being removed.
 *
 * Each number means the instances with the lowest indices.
 */
export function instanceCounts(
  { instances, settled_instances: settled }: InstanceNumbers,
  config: Pick<ReleaseConfig, 'instances'>,
): { readonly existing: number; readonly serving: number; readonly lasting: number } {
  const wanted = instances ?? config.instances;
  const had = settled ?? wanted;
  return { existing: Math.max(wanted, had), serving: Math.min(wanted, had), lasting: wanted };
}

/** Returns why instances cannot be added while others run; null if they can, or if the service does not scale. */
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
 * Returns the number of instances with which a new rollout begins: as many as served before, within the limits of the
 * release, so that a deployment under load does not fall back to the minimum. If events may scale the service to zero,
 * the rollout begins with at least one instance, to prove that the release becomes ready.
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
