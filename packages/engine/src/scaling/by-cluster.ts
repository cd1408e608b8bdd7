import { createHash } from 'node:crypto';
import { canonicalJson } from '@davit/base';
import { DriverError, type ClusterDescription, type Ownership, type ScaledService } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { scalingObstacle } from './instances.ts';

/*
 * Clusters that decide by themselves how many instances a service has ("scaling" of their drivers). They are told by which limits and
 * why, and say the number; what makes it so is the same as where Davit decides.
 */

/** What of a service a cluster may decide on. */
export interface Scaled {
  readonly owner: Ownership;
  readonly rollout: string;
  readonly config: ReleaseConfig;
  /** As many as there are. */
  readonly instances: number;
}

type Parts = Pick<EngineParts, 'drivers' | 'settings'>;

/** Whether something is to decide how many instances there are. */
export function isScaled(config: ReleaseConfig): config is ReleaseConfig & Required<Pick<ReleaseConfig, 'scaling'>> {
  return config.scaling !== undefined && scalingObstacle(config) === null;
}

/**
 * Makes a cluster decide on a service, or decide on it no more where that does not scale. Whether it does from now on; where it cannot,
 * Davit decides itself.
 */
export async function letDecide(parts: Parts, driver: string, scaled: Scaled, signal: AbortSignal): Promise<boolean> {
  const { cluster } = driversOf(parts, driver);
  const { scaling } = cluster;
  if (scaling === undefined) return false;
  if (!isScaled(scaled.config)) {
    await scaling.remove(scaled.owner, signal);
    return false;
  }
  const { events } = scaled.config.scaling;
  if ((await scaling.missing(events === undefined ? 'USE' : 'EVENTS', signal)).length > 0) return false;
  const room = roomFor(scaled.config, await cluster.describe(signal));
  await scaling.apply(toScaledService(scaled, { room, scaleDownSeconds: parts.settings.scaleDownSeconds }), signal);
  return true;
}

/** AUTOSCALING_UNAVAILABLE where a release scales by events and its cluster cannot. Asked before anything is touched. */
export async function assertDecides(parts: Parts, driver: string, config: ReleaseConfig, signal: AbortSignal): Promise<void> {
  if (config.scaling?.events === undefined) return;
  const { scaling } = driversOf(parts, driver).cluster;
  if (scaling === undefined) {
    throw new DriverError({
      cause: 'AUTOSCALING_UNAVAILABLE',
      message: `${config.name} has autoscaling, and the cluster of its environment is a container engine`,
      hint: 'Put the environment on a Kubernetes cluster with KEDA, or leave autoscaling out of the service (null): between min_running_instances and max_running_instances instances follow cpu and memory.',
    });
  }
  const missing = await scaling.missing('EVENTS', signal);
  if (missing.length === 0) return;
  throw new DriverError({
    cause: 'AUTOSCALING_UNAVAILABLE',
    message: `${config.name} has autoscaling, and the cluster lacks ${missing.join(', ')}`,
  });
}

interface Around {
  readonly room: number;
  readonly scaleDownSeconds: number;
}

/** What a cluster is told of a service. Equal input has an equal mark. Pure. */
export function toScaledService(
  { owner, rollout, config, instances }: Scaled,
  { room, scaleDownSeconds }: Around,
): ScaledService {
  const { scaling, instances: least } = config;
  const { cpuPercent = 0, memoryPercent = null, events } = scaling ?? {};
  const told = {
    owner,
    rollout,
    name: config.name,
    least,
    most: Math.max(least, 1, scaling?.most ?? room),
    scaleDownSeconds,
    by: events === undefined ? ({ type: 'USE', cpuPercent, memoryPercent } as const) : ({ type: 'EVENTS', ...events } as const),
    variables: config.environment.map(({ name }) => name),
    metadata: config.metadata,
  };
  return { ...told, instances, mark: markOf({ rollout, config }, scaleDownSeconds) };
}

/** By what of a release a cluster decides. Not by the room that it has now, which changes as nodes come and go. */
export function markOf({ rollout, config }: Pick<Scaled, 'rollout' | 'config'>, scaleDownSeconds: number): string {
  const text = canonicalJson({ rollout, scaleDownSeconds, least: config.instances, scaling: config.scaling ?? null });
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** As many as a cluster can hold of a service, by its size. */
export function roomFor({ cpuMillicores, memoryMiB }: ReleaseConfig, cluster: ClusterDescription): number {
  return Math.floor(Math.min(cluster.cpuMillicores / Math.max(cpuMillicores, 1), cluster.memoryMiB / Math.max(memoryMiB, 1)));
}

/** What of the number that a cluster says is wanted: within the limits of the release that runs, or what there is room for. */
export function withinLimits(wanted: number, config: ReleaseConfig, room: number): number {
  return Math.max(config.instances, Math.min(wanted, config.scaling?.most ?? Math.max(room, 1)));
}
