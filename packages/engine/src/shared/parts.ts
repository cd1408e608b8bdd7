import type { Database } from '@davit/db';
import {
  DriverError,
  type BuildLimits,
  type ClusterDriver,
  type Gateway,
  type HelmDriver,
  type ImageBuilder,
  type ImageCarrier,
  type ImageStore,
  type SourceDriver,
  type TerraformDriver,
} from '@davit/drivers';
import type { EngineCounts, EngineHooks } from '../port.ts';
import type { ClusterState } from '../port/clusters.ts';
import type { KnownKinds } from '../kinds/traits.ts';
import type { LogArchive } from '../log-archive/archive.ts';
import type { RedactorPool } from '../output/redactor-pool.ts';
import type { Handover } from './handover.ts';
import type { GatewaySync } from '../routes/gateway-sync.ts';

/** The drivers of one cluster. */
export interface DriverSet {
  readonly cluster: ClusterDriver;
  /** null: nothing is built for the cluster. */
  readonly builder: ImageBuilder | null;
  /** null: the cluster itself pulls images from their registries, by name. */
  readonly carrier: ImageCarrier | null;
  /**
   * Id of the container registry that the cluster pulls built images from. Omitted: built images stay on its engine.
   */
  readonly pullRegistryId?: string | undefined;
  /** The `driver` whose engine builds the cluster's images. Omitted: the cluster's own engine. */
  readonly buildsOn?: string | undefined;
  /** Maximum resources of a build. Omitted: the limits in the settings of this machine. */
  readonly buildLimits?: BuildLimits | undefined;
  readonly source: SourceDriver;
  readonly gateway: Gateway;
  /** Omitted: images stored by the engine are not cleaned up. */
  readonly imageStore?: ImageStore | undefined;
  /** Runs Terraform configurations on the cluster. Omitted: they run on this machine. */
  readonly terraform?: TerraformDriver | undefined;
}

/** Spellings of clients that know this API under other words. null: as Davit does. */
export interface ClientTexts {
  /** Begin of references in chart values, such as `client.env`; in Davit's own words `davit.env`. */
  readonly chartReference: string | null;
  /** Absolute path of the file with the outputs of a job, directly in a folder. */
  readonly jobOutputFile: string | null;
}

export interface EngineSettings {
  /**
   * Interval in milliseconds at which runner, scheduler and backups look for work without a notification, and pause of
   * a runner after an interruption. Default: 1,000. Clusters that start runs themselves are queried every third time.
   */
  readonly lookEveryMilliseconds?: number;
  /**
   * Milliseconds before the first retry of a transient failure. Later pauses double, up to eight times this value.
   * Default: 500.
   */
  readonly firstRetryMilliseconds?: number;
  /** Folder for checked-out sources: `<workFolder>/<deployment>/<service>` while they are built. */
  readonly workFolder: string;
  /** Label value of everything that Davit creates. */
  readonly installation: string;
  /** Prefix of built-in variables: `DAVIT_`. */
  readonly builtInPrefix: string;
  /** Other spellings of texts inside workloads, which clients use as well as Davit's own. Absent: none. */
  readonly clientTexts?: ClientTexts;
  /** Resource limits of one build. */
  readonly buildCpuMillicores: number;
  readonly buildMemoryMiB: number;
  /** Maximum number of concurrent builds on this machine, over all deployments. */
  readonly maximumBuilds: number;
  /** Maximum number of concurrent deployments, each of another environment. */
  readonly maximumDeployments: number;
  /** Seconds within which the ports of instances without a readiness probe must accept connections. */
  readonly readyTimeoutSeconds: number;
  /** Seconds between SIGTERM and SIGKILL. */
  readonly terminationGraceSeconds: number;
  /**
   * Seconds that work for an unreachable cluster waits for the cluster. Does not apply to this machine's own cluster,
   * which is expected to be reachable.
   */
  readonly clusterWaitSeconds: number;
  /** Seconds that requests under way at replaced instances may take. After that the instances are stopped anyway. */
  readonly drainSeconds: number;
  /** Number of a service's newest releases that keep their built image, so that they can be run again. */
  readonly keptReleases: number;
  /** Free MiB of the engine's disk below which nothing is built or pulled; 0: no limit. */
  readonly minFreeMiB?: number;
  /** MiB that the build cache of an engine may use; absent or 0: no limit. */
  readonly buildCacheMiB?: number;
  /**
   * Seconds that a service must run without a fault before a condition is cleared. Default: 60. Instances that exit
   * repeatedly must run for twice the time between two exits.
   */
  readonly steadySeconds?: number;
  /** MiB that an instance may write into its own file system on an engine of this machine; 0: no limit. */
  readonly instanceDiskMiB: number;
  /** Percentage of their size that a service's volumes may hold before the service is stopped; 0: no limit. */
  readonly volumeLimitPercent: number;
  /** Seconds between two measurements of what instances have written. Default: 60. */
  readonly diskWatchSeconds?: number;
  /** Seconds after a start during which a service is not stopped because of its volumes. Default: 600. */
  readonly diskGraceSeconds?: number;
  readonly logRetentionDays: number;
  /** MiB of compressed log lines that are kept of a service. */
  readonly logMiBPerService: number;
  /** Log lines (longer lines count by their KiB) per second that are kept of a service's output; 0: no limit. */
  readonly logLinesPerSecond: number;
  /** Seconds between two measurements of the resource use of services. */
  readonly metricsSeconds: number;
  /** Seconds during which fewer instances must have sufficed before a scaling service is scaled down. */
  readonly scaleDownSeconds: number;
  readonly backupFolder: string;
  /** Maximum number of concurrent backups and restores, each of another database. */
  readonly backupsAtOnce: number;
  /** Seconds that one dump with its proof, or one restore, may take. */
  readonly backupTimeoutSeconds: number;
  /** Number of successful scheduled backups that are kept of a database. */
  readonly keptBackups: number;
}

export interface EngineLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** The clusters that this process works with, by `cluster.driver`. `Clusters` implements and documents them. */
export interface KnownClusters {
  readonly canConnect: boolean;
  nameOf(key: string): string;
  awayFor(key: string): number;
  know(key: string): Promise<void>;
  state(key: string): Promise<ClusterState>;
  check(key: string): Promise<ClusterState>;
  upgrade(key: string, version: string): Promise<void>;
  readonly removals: { inTurn<T>(location: string, action: () => Promise<T>, signal: AbortSignal): Promise<T> };
}

export interface EngineParts {
  readonly database: Database;
  readonly connectionString: string;
  readonly hooks: EngineHooks;
  /** Drivers by `cluster.driver`. They change while the process runs, as clusters are added and removed. */
  readonly drivers: Readonly<Record<string, DriverSet>>;
  readonly gateways: Readonly<Record<string, GatewaySync>>;
  readonly clusters: KnownClusters;
  readonly kinds: KnownKinds;
  /** Runs Terraform configurations on this machine, for clusters that cannot run them. */
  readonly terraform: TerraformDriver;
  /** Deploys charts from this machine to any cluster. */
  readonly helm: HelmDriver;
  readonly settings: EngineSettings;
  readonly counts: EngineCounts;
  readonly redactors: RedactorPool;
  readonly archive: LogArchive;
  readonly handover: Handover;
  readonly log: EngineLog;
}

/** Returns the drivers of a cluster. Fails with CLUSTER_NOT_CONNECTED if this process has none for it. */
export function driversOf(parts: Pick<EngineParts, 'drivers'>, driver: string): DriverSet {
  const set = parts.drivers[driver];
  if (set !== undefined) return set;
  throw new DriverError({
    cause: 'CLUSTER_NOT_CONNECTED',
    message: `Davit has no connection to the cluster ${driver}`,
  });
}

/** Returns the builder of a cluster. Fails with BUILD_UNAVAILABLE if there is none. */
export function builderOf(parts: Pick<EngineParts, 'drivers'>, driver: string): ImageBuilder {
  const { builder } = driversOf(parts, driver);
  if (builder !== null) return builder;
  throw new DriverError({
    cause: 'BUILD_UNAVAILABLE',
    message: 'no container registry is set for the images that Davit builds for the cluster of this environment',
  });
}

/**
 * Returns whether a cluster is unreachable and is waited for. Work for such a cluster must not occupy the slots of
 * other work meanwhile.
 */
export function isAwaited(parts: Pick<EngineParts, 'clusters' | 'settings'>, driver: string): boolean {
  return parts.clusters.awayFor(driver) > 0 && !isWaitedOut(parts, driver);
}

/**
 * Returns whether a cluster has been unreachable for the whole waiting time. A cluster that was unreachable for a
 * moment may be reachable for other calls by now.
 */
export function isWaitedOut({ clusters, settings }: Pick<EngineParts, 'clusters' | 'settings'>, driver: string): boolean {
  return clusters.awayFor(driver) >= settings.clusterWaitSeconds * 1_000;
}

const defaultSteadySeconds = 60;

export function steadySeconds(settings: Pick<EngineSettings, 'steadySeconds'>): number {
  return settings.steadySeconds ?? defaultSteadySeconds;
}

const defaultLookEveryMilliseconds = 1_000;

export function lookEveryMilliseconds(settings: EngineSettings): number {
  return settings.lookEveryMilliseconds ?? defaultLookEveryMilliseconds;
}
