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
import type { Clusters } from '../clusters/clusters.ts';
import type { GatewaySync } from '../routes/gateway-sync.ts';

/** What one cluster is worked with. */
export interface DriverSet {
  readonly cluster: ClusterDriver;
  /** null: nothing is built for it. */
  readonly builder: ImageBuilder | null;
  /** null: it brings images from their registries by itself, by their names. */
  readonly carrier: ImageCarrier | null;
  /** The container registry that it pulls what is built for it from; left out: that stays on its engine. */
  readonly pullRegistryId?: string | undefined;
  /** The `driver` on whose engine its images are built; left out: its own. */
  readonly buildsOn?: string | undefined;
  /** What a build may use at most; left out: what the settings say of this machine. */
  readonly buildLimits?: BuildLimits | undefined;
  readonly source: SourceDriver;
  readonly gateway: Gateway;
  /** Left out: what the engine keeps is not looked after. */
  readonly imageStore?: ImageStore | undefined;
  /** Runs Terraform configurations there; left out: this machine does. */
  readonly terraform?: TerraformDriver | undefined;
}

export interface EngineSettings {
  /**
   * How often runner, scheduler and backups look for work without being notified, and how long a runner waits after an
   * interruption. Default: 1,000. Clusters that start runs by themselves are asked every three such times.
   */
  readonly lookEveryMilliseconds?: number;
  /** Before the first retry of a transient failure; further pauses double, up to eight times of it. Default: 500. */
  readonly firstRetryMilliseconds?: number;
  /** Checked-out sources live in `<workFolder>/<deployment>/<service>` while they are built. */
  readonly workFolder: string;
  /** Labels of everything that is made. */
  readonly installation: string;
  /** `DAVIT_`: how built-in variables begin. */
  readonly builtInPrefix: string;
  /** Caps of one build. */
  readonly buildCpuMillicores: number;
  readonly buildMemoryMiB: number;
  /** Builds at the same time on this machine, over all deployments. */
  readonly maximumBuilds: number;
  /** Deployments at the same time, each of another environment. */
  readonly maximumDeployments: number;
  /** How long instances without a readiness probe may take until their ports accept connections. */
  readonly readyTimeoutSeconds: number;
  /** Between SIGTERM and SIGKILL. */
  readonly terminationGraceSeconds: number;
  /** How long what is meant for a cluster waits for it when it does not answer. Not of this machine's own, which is expected to. */
  readonly clusterWaitSeconds: number;
  /** How long requests under way at replaced instances may take before these are stopped all the same. */
  readonly drainSeconds: number;
  /** Of a service: how many of its newest releases keep their built image, so that they can be run again. */
  readonly keptReleases: number;
  /** Free space of the engine's disk below which nothing is built or pulled; 0: no limit. */
  readonly leastFreeMiB?: number;
  /**
   * So long a service must run without a fault before a condition that was observed is cleared, in seconds. Default: 60. Instances that end
   * again and again must run twice as long as the time between two ends.
   */
  readonly steadySeconds?: number;
  /** What an instance may write into its own file system on an engine of this machine; 0: no limit. */
  readonly instanceDiskMiB: number;
  /** Of the size of its volumes: what they may hold before the service is stopped, in percent; 0: no limit. */
  readonly volumeLimitPercent: number;
  /** Between two looks at what instances have written. Default: 60. */
  readonly diskWatchSeconds?: number;
  /** How long after a start a service is not stopped for its volumes. Default: 600. */
  readonly diskGraceSeconds?: number;
  readonly logRetentionDays: number;
  readonly logLinesPerService: number;
  /** Of a service: lines (longer ones by their KiB) a second that are kept of what it prints; 0: no limit. */
  readonly logLinesPerSecond: number;
  /** Between two measurements of what services use. */
  readonly metricsSeconds: number;
  /** For so long fewer instances must have been enough before a service that scales gets fewer. */
  readonly scaleDownSeconds: number;
  readonly backupFolder: string;
  /** Backups and restores of databases at the same time, each of another database. */
  readonly backupsAtOnce: number;
  /** Of one dump with its proof, or one restore. */
  readonly backupTimeoutSeconds: number;
  /** Of a database: how many good scheduled backups stay. */
  readonly keptBackups: number;
}

export interface EngineLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

export interface EngineParts {
  readonly database: Database;
  readonly connectionString: string;
  readonly hooks: EngineHooks;
  /** By the `driver` of what is on a cluster. They change while the process runs, as clusters come and go. */
  readonly drivers: Readonly<Record<string, DriverSet>>;
  readonly gateways: Readonly<Record<string, GatewaySync>>;
  readonly clusters: Clusters;
  /** Runs Terraform configurations on this machine, for clusters that do not themselves. */
  readonly terraform: TerraformDriver;
  /** Deploys charts, from this machine onto whatever cluster. */
  readonly helm: HelmDriver;
  readonly settings: EngineSettings;
  readonly counts: EngineCounts;
  readonly log: EngineLog;
}

/** The drivers of a cluster. CLUSTER_NOT_CONNECTED: this process has none for it. */
export function driversOf(parts: Pick<EngineParts, 'drivers'>, driver: string): DriverSet {
  const set = parts.drivers[driver];
  if (set !== undefined) return set;
  throw new DriverError({
    cause: 'CLUSTER_NOT_CONNECTED',
    message: `Davit has nothing to reach the cluster ${driver} with`,
  });
}

/** What builds for a cluster. BUILD_UNAVAILABLE: nothing does. */
export function builderOf(parts: Pick<EngineParts, 'drivers'>, driver: string): ImageBuilder {
  const { builder } = driversOf(parts, driver);
  if (builder !== null) return builder;
  throw new DriverError({
    cause: 'BUILD_UNAVAILABLE',
    message: 'there is no registry to which what is built for the cluster of this environment could be pushed',
  });
}

/** Whether a cluster does not answer and is waited for: what is for it must not take the places of others meanwhile. */
export function isAwaited(parts: Pick<EngineParts, 'clusters' | 'settings'>, driver: string): boolean {
  return parts.clusters.awayFor(driver) > 0 && !isWaitedOut(parts, driver);
}

/** Whether a cluster has not answered for as long as it is waited for. One that was away for a moment may answer others by now. */
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
