import type { ReleaseConfig } from '../model.ts';

/** The numbers of a service's row, see the migration `metrics`. */
export interface InstanceNumbers {
  readonly instances: number | null;
  readonly settled_instances: number | null;
}

/** How many instances of what runs there should be now, and how many of them serve. Those have the lowest indices. */
export function instanceCounts(
  { instances, settled_instances: settled }: InstanceNumbers,
  config: Pick<ReleaseConfig, 'instances'>,
): { readonly existing: number; readonly serving: number } {
  const wanted = instances ?? config.instances;
  const had = settled ?? wanted;
  return { existing: Math.max(wanted, had), serving: Math.min(wanted, had) };
}

/** How many instances a new rollout begins with: as many as served before, within its limits. Not back to the least under load. */
export function firstCount(
  config: Pick<ReleaseConfig, 'instances' | 'scaling'>,
  former: (InstanceNumbers & { readonly desired: string }) | null,
): number {
  const { scaling, instances: least } = config;
  if (scaling === undefined || former?.desired !== 'RUNNING' || former.instances === null) return least;
  return Math.max(least, Math.min(former.instances, scaling.most ?? former.instances));
}
