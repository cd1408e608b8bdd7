import { createHash } from 'node:crypto';
import { canonicalJson } from '@davit/base';
import { DriverError, type ClusterDescription, type Ownership, type ScaledService } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { scalingObstacle } from './instances.ts';

/*
 * Clusters that decide by themselves how many instances a service has ("scaling" of their drivers). Davit sends them
 * the limits and the metrics to scale by, and they return the number. Davit then changes the number of instances in the
 * same way as when it decides itself.
 */

/** The data of a service from which a cluster decides. */
export interface Scaled {
  readonly owner: Ownership;
  readonly rollout: string;
  readonly config: ReleaseConfig;
  /** The current number of instances. */
  readonly instances: number;
}

type Parts = Pick<EngineParts, 'drivers' | 'settings'>;

/** Returns whether the number of instances of a release is scaled automatically. */
export function isScaled(config: ReleaseConfig): config is ReleaseConfig & Required<Pick<ReleaseConfig, 'scaling'>> {
  return config.scaling !== undefined && scalingObstacle(config) === null;
}

/**
 * Makes a cluster decide the number of instances of a service, or stops it from deciding if the service does not scale.
 * Returns whether the cluster decides from now on. If it cannot, Davit decides.
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
  const capacity = instancesThatFit(scaled.config, await cluster.describe(signal));
  await scaling.apply(toScaledService(scaled, { capacity, scaleDownSeconds: parts.settings.scaleDownSeconds }), signal);
  return true;
}

/**
 * Fails with AUTOSCALING_UNAVAILABLE if a release scales by events and its cluster cannot do so. Called before anything
 * is changed.
 */
export async function assertDecides(parts: Parts, driver: string, config: ReleaseConfig, signal: AbortSignal): Promise<void> {
  if (config.scaling?.events === undefined) return;
  const { scaling } = driversOf(parts, driver).cluster;
  if (scaling === undefined) {
    throw new DriverError({
      cause: 'AUTOSCALING_UNAVAILABLE',
      message: `${config.name} has autoscaling, and the cluster of its environment is a container engine`,
      hint: 'Put the environment on a Kubernetes cluster with KEDA, or remove autoscaling from the service (null): Davit then scales between min_running_instances and max_running_instances by cpu and memory.',
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
  readonly capacity: number;
  readonly scaleDownSeconds: number;
}

/** Returns the settings that the cluster receives for a service. Equal input has an equal mark. Pure. */
export function toScaledService(
  { owner, rollout, config, instances }: Scaled,
  { capacity, scaleDownSeconds }: Around,
): ScaledService {
  const { scaling, instances: least } = config;
  const { cpuPercent = 0, memoryPercent = null, events } = scaling ?? {};
  const reported = {
    owner,
    rollout,
    name: config.name,
    min: least,
    max: Math.max(least, 1, scaling?.most ?? capacity),
    scaleDownSeconds,
    by: events === undefined ? ({ type: 'USE', cpuPercent, memoryPercent } as const) : ({ type: 'EVENTS', ...events } as const),
    variables: config.environment.map(({ name }) => name),
    metadata: config.metadata,
  };
  return { ...reported, instances, mark: markOf({ rollout, config }, scaleDownSeconds) };
}

/**
 * Returns a hash of the settings by which a cluster decides on a release. The capacity of the cluster is not part of
 * it, because it changes as nodes come and go.
 */
export function markOf({ rollout, config }: Pick<Scaled, 'rollout' | 'config'>, scaleDownSeconds: number): string {
  const text = canonicalJson({ rollout, scaleDownSeconds, least: config.instances, scaling: config.scaling ?? null });
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Returns how many instances of a service fit on a cluster, by the size of the cluster. */
export function instancesThatFit({ cpuMillicores, memoryMiB }: ReleaseConfig, cluster: ClusterDescription): number {
  return Math.floor(Math.min(cluster.cpuMillicores / Math.max(cpuMillicores, 1), cluster.memoryMiB / Math.max(memoryMiB, 1)));
}

/**
 * Returns the number that a cluster wants, limited to the bounds of the running release, or to the capacity of the
 * cluster if the release has no maximum.
 */
export function withinLimits(wanted: number, config: ReleaseConfig, capacity: number): number {
  return Math.max(config.instances, Math.min(wanted, config.scaling?.most ?? Math.max(capacity, 1)));
}
