import type { Queryable } from '@davit/db';
import type { ChartService, TerraformResource } from '@davit/drivers';
import type { BackupPort } from './backups/port.ts';
import type { ReleaseConfig } from './model.ts';
import type { ClusterFacts, ClusterState } from './port/clusters.ts';
import type { DeploymentLogLine, LogLines, ServiceLogLine } from './port/logs.ts';
import type { ClusterHealth, EngineDisk } from './port/platform.ts';
import type { MetricsStep, MetricsTotal, ScalingView } from './port/metrics.ts';
import type { DeploymentPlan, DeploymentRequest } from './port/request.ts';
import type { SourceAnswer, SourceQuestion, SourceReader } from './port/source.ts';
import type {
  ClearedRuns,
  DeploymentView,
  EnvironmentView,
  HistoryServiceView,
  Page,
  ServedRoute,
  ServiceView,
} from './port/views.ts';

export type * from './backups/port.ts';
export type * from './model.ts';
export type { ChartService, TerraformResource } from '@davit/drivers';
export type * from './port/request.ts';
export type * from './port/views.ts';
export type * from './port/logs.ts';
export type * from './port/metrics.ts';
export type * from './port/source.ts';
export type * from './port/hooks.ts';
export type * from './port/clusters.ts';
export type * from './port/platform.ts';
export { helmArgumentFaults, helmSettingFault } from '@davit/drivers';
export { noCounts } from './port/platform.ts';
export { sourceSettings } from './routes/route-settings.ts';
export { cronFault, isTimeZone, nextRun } from './jobs/cron.ts';
export {
  actionWord,
  deploymentState,
  environmentState,
  stateOf,
  type ActionStatusWord,
  type ActionWord,
  type Phase,
  type StateWord,
} from './states.ts';

/**
 * What the API asks of the engine. Methods that take a `Queryable` run in the caller's transaction (or outside of one); the
 * others start their own. Failures are `AppError`s with codes of the contract's catalogue.
 */
export interface EnginePort {
  /**
   * Writes releases and queue entry in the caller's transaction; work begins after its commit. Locks the environment's queue
   * until then. A request of the same actor and action that still waits takes the services in; its id is answered. RESTART
   * and STOP of a service that never ran: NEVER_DEPLOYED. A release that has no image: RELEASE_NOT_USABLE.
   */
  request(tx: Queryable, request: DeploymentRequest): Promise<{ readonly deploymentId: string; readonly merged: boolean }>;

  /** What `request` would lead to now. Changes nothing. */
  plan(request: DeploymentRequest): Promise<DeploymentPlan>;

  /** Takes a waiting request out of the queue. ALREADY_STARTED when it runs or ended; NOT_FOUND. */
  withdraw(deploymentId: string): Promise<void>;

  /** Asks the running deployment of an environment to stop. NOTHING_TO_CANCEL when none runs or it is being canceled already. */
  cancel(environmentId: string, force: boolean): Promise<void>;

  /** One view for each id, in their order; a service that the engine never saw is READY. */
  services(db: Queryable, serviceIds: readonly string[]): Promise<readonly ServiceView[]>;
  environment(db: Queryable, environmentId: string): Promise<EnvironmentView>;

  serviceHistory(db: Queryable, serviceId: string, page: Page): Promise<readonly HistoryServiceView[]>;
  environmentHistory(db: Queryable, environmentId: string, page: Page): Promise<readonly DeploymentView[]>;

  /** A request or deployment, whatever became of it; null: unknown. */
  deployment(db: Queryable, deploymentId: string): Promise<DeploymentView | null>;

  /** Waiting requests, first in line first. */
  queueOfEnvironment(db: Queryable, environmentId: string): Promise<readonly DeploymentView[]>;
  queueOfService(db: Queryable, serviceId: string): Promise<readonly DeploymentView[]>;

  /** Environment and organization of a request, whatever became of it; null: unknown. */
  placeOfRequest(
    db: Queryable,
    deploymentId: string,
  ): Promise<{ readonly organizationId: string; readonly environmentId: string } | null>;

  /** Log of the deployment with that execution id, or of the latest one. Unknown execution: empty. */
  deploymentLog(
    db: Queryable,
    environmentId: string,
    executionId: string | null,
  ): Promise<{ readonly executionId: string | null; readonly lines: readonly DeploymentLogLine[] }>;

  /** The newest `tail` lines of a service, oldest of them first, instances that are gone included. */
  serviceLog(db: Queryable, serviceId: string, tail: number): Promise<readonly ServiceLogLine[]>;

  /**
   * What a service used in the last minutes (1 to 1440), oldest first: by the minute up to two hours back, by five minutes beyond.
   * Steps in which nothing of it ran or was asked for are left out.
   */
  metrics(
    db: Queryable,
    serviceId: string,
    minutes: number,
  ): Promise<{
    readonly stepSeconds: number;
    readonly steps: readonly MetricsStep[];
    /** Newest first, at most 100. */
    readonly scalings: readonly ScalingView[];
  }>;

  /** Of all services, for whoever collects metrics. */
  metricTotals(db: Queryable): Promise<readonly MetricsTotal[]>;

  /** Upper ends, in milliseconds, of the buckets in which answers are counted; the last bucket has none. */
  readonly latencyBuckets: readonly number[];

  /**
   * Lines of logs by their numbers, or the next ones behind a number: at most `limit`, oldest first. Those that are kept no longer are
   * missing.
   */
  deploymentLines(db: Queryable, deploymentId: string, which: LogLines): Promise<readonly DeploymentLogLine[]>;
  serviceLines(db: Queryable, serviceId: string, which: LogLines): Promise<readonly ServiceLogLine[]>;

  /** The number behind which the newest `tail` lines of a service begin; those of `except` do not count. */
  serviceLinesStart(db: Queryable, serviceId: string, tail: number, except: readonly number[]): Promise<number>;

  /** Configuration of the release that is deployed; null: none. */
  deployedConfig(db: Queryable, serviceId: string): Promise<ReleaseConfig | null>;

  /** The same for several services; those of which none is deployed are missing in the map. */
  deployedConfigs(db: Queryable, serviceIds: readonly string[]): Promise<ReadonlyMap<string, ReleaseConfig>>;

  /** The hash that `deployedConfigHash` is compared with. */
  hash(config: ReleaseConfig): string;

  /** Whether the engine has anything on a cluster for the service, or a request for it that is not finished. */
  isKnown(db: Queryable, serviceId: string): Promise<boolean>;

  /** Looks into a git repository as a deployment would: with the same git, credentials and limits. Changes nothing. */
  readSource(question: SourceQuestion): Promise<SourceAnswer>;

  /** The same for branches and commits. */
  readonly source: SourceReader;

  /** The Services that the chart of a service has on its cluster; none while it is not deployed. Fails with DriverErrors. */
  chartServices(db: Queryable, serviceId: string): Promise<readonly ChartService[]>;
  /** Programs of this machine that run Terraform configurations. */
  terraformVersions(): Promise<readonly { readonly engine: 'TERRAFORM' | 'OPEN_TOFU'; readonly version: string }[]>;

  /** Whether that run of Terraform on a cluster is under way, and the token its own. */
  isTerraformRun(run: { readonly runId: string; readonly token: string }): Promise<boolean>;

  /**
   * Does what a run asks of its state by the protocol of Terraform's backend `http`. `body` null: it is too large. 401: the run is over,
   * or the token is not its own.
   */
  terraformState(
    run: { readonly runId: string; readonly token: string },
    request: { readonly method: string; readonly body: string | null },
  ): Promise<{ readonly status: number; readonly body: string | null }>;

  /** What the latest apply of a Terraform configuration left in the world; null: nothing was applied, or it is destroyed. */
  terraformResources(
    db: Queryable,
    serviceId: string,
  ): Promise<{ readonly resources: readonly TerraformResource[]; readonly extractedAt: string } | null>;

  /**
   * Removes what ended runs of these jobs left on the cluster, and answers what that was; logs and history stay. Jobs that left nothing
   * are missing. CLUSTER_UNREACHABLE.
   */
  clearEndedRuns(which: { readonly driver: string; readonly serviceIds: readonly string[] }): Promise<readonly ClearedRuns[]>;

  /** What the gateway serves of a service now; null: this process does not know, as it serves nothing, or not yet. */
  servedRoutes(driver: string, serviceId: string): readonly ServedRoute[] | null;

  readonly backups: BackupPort;

  /** What the local cluster is, for its status record and the caps of services; null when it does not answer. */
  describeCluster(driver: string): Promise<ClusterFacts | null>;

  /** What a cluster answers; remembered for ten seconds. Asks for five seconds at most, and does not fail. */
  clusterState(driver: string): Promise<ClusterState>;

  /** The same, asked now. */
  checkCluster(driver: string): Promise<ClusterState>;

  /**
   * Has a cluster brought to a version, the `next` of its state, and does not wait for it. The same again changes nothing. Fails with what
   * the cluster says against it: CLUSTER_UNREACHABLE, REMOTE_REFUSED.
   */
  upgradeCluster(driver: string, version: string): Promise<void>;

  /** Every cluster that the keeper of this process looks after, from memory; none in a process that runs no deployments. */
  clusterHealth(): readonly ClusterHealth[];

  /** Space on the disk of this machine's container engine; null: there is none, or its disk is of another machine. Fails when it does not answer. */
  engineDisk(signal: AbortSignal): Promise<EngineDisk | null>;

  /** Whether this version can work with clusters beside this machine's own. */
  readonly connectsClusters: boolean;
}
