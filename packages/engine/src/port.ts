import type { Queryable } from '@davit/db';
import type { ChartService, TerraformResource } from '@davit/drivers';
import type { BackupPort } from './backups/port.ts';
import type { Action, ReleaseConfig } from './model.ts';
import type { ClusterFacts, ClusterState } from './port/clusters.ts';
import type { DeploymentLogLine, LogLines, LogPage, LogSearch, ServiceLogLine } from './port/logs.ts';
import type { ClusterHealth, EngineDisk } from './port/platform.ts';
import type { MetricsStep, MetricsTotal, ScalingView } from './port/metrics.ts';
import type { DeploymentPlan, DeploymentRequest } from './port/request.ts';
import type { Phase, StateWord } from './states.ts';
import type { SourceAnswer, SourceQuestion, SourceReader } from './port/source.ts';
import type {
  ClearedRuns,
  BegunStepView,
  ConditionView,
  DeploymentView,
  EnvironmentView,
  HistoryServiceView,
  Page,
  ReleaseView,
  ServedRoute,
  ServiceOverview,
  ServiceStateView,
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
export { changedFields, fieldsOf, type FieldChange, type ReleaseField } from './plan/fields.ts';
export { cronFault, isTimeZone, nextRun } from './jobs/cron.ts';
export {
  actionWord,
  deploymentState,
  environmentState,
  eventState,
  type ActionStatusWord,
  type ActionWord,
  type Phase,
  type StateWord,
} from './states.ts';

/**
 * The operations of the engine that the API uses. Methods that take a `Queryable` run in the caller's transaction (or
 * outside of one); the others start their own. They fail with `AppError`s whose codes are in the contract's catalogue.
 */
export interface EnginePort {
  /**
   * Writes the releases and the queue entry in the caller's transaction; work begins after its commit. Locks the
   * environment's queue until then. A waiting request with the same actor and action absorbs the services, and its id
   * is returned. Fails with:
   * - NEVER_DEPLOYED: RESTART or STOP of a service that never ran;
   * - RELEASE_NOT_USABLE: a release has no image.
   */
  request(tx: Queryable, request: DeploymentRequest): Promise<{ readonly deploymentId: string; readonly merged: boolean }>;

  /** Returns the deployment that `request` would start now. Changes nothing. */
  plan(request: DeploymentRequest): Promise<DeploymentPlan>;

  /**
   * Removes a waiting request from the queue. Fails with ALREADY_STARTED if it is running or has ended, and with
   * NOT_FOUND.
   */
  withdraw(deploymentId: string): Promise<void>;

  /**
   * Asks the running deployment of an environment to stop. Fails with NOTHING_TO_CANCEL if no deployment is running or
   * if it is already being canceled.
   */
  cancel(environmentId: string, force: boolean): Promise<void>;

  /** Returns one view for each id, in the order of the ids. A service that the engine has never seen is READY. */
  services(db: Queryable, serviceIds: readonly string[]): Promise<readonly ServiceView[]>;
  /** Returns the part of the same views that the state of an environment depends on. */
  serviceStates(db: Queryable, serviceIds: readonly string[]): Promise<readonly ServiceStateView[]>;
  /** Returns the part of the same views that an overview shows. Meant for all services of an organization. */
  serviceOverviews(db: Queryable, serviceIds: readonly string[]): Promise<readonly ServiceOverview[]>;
  environment(db: Queryable, environmentId: string): Promise<EnvironmentView>;
  /** Returns the views of many environments, in the order of the ids. */
  environments(db: Queryable, environmentIds: readonly string[]): Promise<readonly EnvironmentView[]>;
  /** Returns a text that changes when the states of an environment's services may have changed. */
  stateMark(db: Queryable, environmentId: string): Promise<string>;
  /** Returns these texts of many environments, by environment. */
  stateMarks(db: Queryable, environmentIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Returns the conditions of services by service, worst first. Services without conditions are missing. */
  conditions(db: Queryable, serviceIds: readonly string[]): Promise<ReadonlyMap<string, readonly ConditionView[]>>;

  /** Returns the state word of a service in a deployment. Pure. */
  stateOf(action: Action, phase: Phase, serviceType: string): StateWord;

  serviceHistory(db: Queryable, serviceId: string, page: Page): Promise<readonly HistoryServiceView[]>;
  environmentHistory(db: Queryable, environmentId: string, page: Page): Promise<readonly DeploymentView[]>;

  /** Returns a request or deployment, whatever its outcome; null if it is unknown. */
  deployment(db: Queryable, deploymentId: string): Promise<DeploymentView | null>;
  /** Returns the steps of a deployment that have begun, in the order in which they began. */
  deploymentSteps(db: Queryable, deploymentId: string): Promise<readonly BegunStepView[]>;

  /** Return the waiting requests, first in line first. */
  queueOfEnvironment(db: Queryable, environmentId: string): Promise<readonly DeploymentView[]>;
  queueOfService(db: Queryable, serviceId: string): Promise<readonly DeploymentView[]>;

  /** Returns the environment and organization of a request, whatever its outcome; null if it is unknown. */
  environmentOfRequest(
    db: Queryable,
    deploymentId: string,
  ): Promise<{ readonly organizationId: string; readonly environmentId: string } | null>;

  /**
   * Returns the log of the deployment with that execution id, or of the latest deployment. Empty for an unknown
   * execution.
   */
  deploymentLog(
    db: Queryable,
    environmentId: string,
    executionId: string | null,
  ): Promise<{ readonly executionId: string | null; readonly lines: readonly DeploymentLogLine[] }>;

  /** Returns the newest `tail` lines of a service, oldest first, including lines of instances that no longer exist. */
  serviceLog(db: Queryable, serviceId: string, tail: number): Promise<readonly ServiceLogLine[]>;

  /**
   * Returns a page of the kept lines of a service that meet conditions. A page may have fewer lines than `limit`, or
   * none, although there are more: a search ends after some seconds with what it found. Returns null if `line` is not
   * kept. Fails with VALIDATION_FAILED, EXPRESSION_TOO_SLOW and TOO_MANY_SEARCHES.
   */
  searchLog(db: Queryable, serviceId: string, search: LogSearch, signal: AbortSignal): Promise<LogPage | null>;

  /**
   * Returns the resource use of a service during the last `minutes` (1 to 43,200), oldest step first. Steps are one
   * minute long up to two hours back, five minutes up to a day, and an hour beyond. Steps in which no instance ran and
   * none was wanted are omitted.
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

  /** Returns the totals of all services, for metrics collectors. */
  metricTotals(db: Queryable): Promise<readonly MetricsTotal[]>;

  /** Upper bounds, in milliseconds, of the buckets in which responses are counted. The last bucket has no bound. */
  readonly latencyBuckets: readonly number[];

  /**
   * Return log lines by their numbers, or the lines after a number: at most `limit`, oldest first. Lines that are no
   * longer kept are missing.
   */
  deploymentLines(db: Queryable, deploymentId: string, which: LogLines): Promise<readonly DeploymentLogLine[]>;
  serviceLines(db: Queryable, serviceId: string, which: LogLines): Promise<readonly ServiceLogLine[]>;

  /**
   * Returns the number after which the newest `tail` lines of a service begin. Lines listed in `except` are not
   * counted.
   */
  serviceLinesStart(db: Queryable, serviceId: string, tail: number, except: readonly number[]): Promise<number>;

  /** Returns the configuration of the deployed release; null if none is deployed. */
  deployedConfig(db: Queryable, serviceId: string): Promise<ReleaseConfig | null>;

  /**
   * Returns the deployed configurations of several services. Services without a deployed release are missing in the
   * map.
   */
  deployedConfigs(db: Queryable, serviceIds: readonly string[]): Promise<ReadonlyMap<string, ReleaseConfig>>;

  /** Returns a release of a service; null if the service has no such release. */
  release(db: Queryable, serviceId: string, releaseId: string): Promise<ReleaseView | null>;
  /** Returns the deployed release; null if none is deployed. */
  deployedRelease(db: Queryable, serviceId: string): Promise<ReleaseView | null>;
  /** Returns the release with which the service worked before a release was deployed first; null if it never worked. */
  workingRelease(db: Queryable, serviceId: string, before: string): Promise<ReleaseView | null>;
  /** Returns the ports of releases by their ids. They never change. */
  portsOfReleases(db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, ReleaseConfig['ports']>>;
  /** Returns the paths of all fields that contained a secret in any release of a service. */
  secretPaths(db: Queryable, serviceId: string): Promise<ReadonlySet<string>>;
  /** Returns the plain values that fields with these paths had in any release of a service. */
  plainValues(db: Queryable, serviceId: string, paths: ReadonlySet<string>): Promise<readonly string[]>;

  /** Returns the hash to compare with `deployedConfigHash`. */
  hash(config: ReleaseConfig): string;

  /** Returns whether the engine has anything on a cluster for the service, or an unfinished request for it. */
  isKnown(db: Queryable, serviceId: string): Promise<boolean>;

  /** Reads a git repository as a deployment would: with the same git, credentials and limits. Changes nothing. */
  readSource(question: SourceQuestion): Promise<SourceAnswer>;

  /** Reads branches and commits with the same git, credentials and limits. */
  readonly source: SourceReader;

  /**
   * Returns the Services that a service's chart has on its cluster; none while the chart is not deployed. Fails with
   * DriverErrors.
   */
  chartServices(db: Queryable, serviceId: string): Promise<readonly ChartService[]>;
  /** Returns the programs on this machine that run Terraform configurations. */
  terraformVersions(): Promise<readonly { readonly engine: 'TERRAFORM' | 'OPEN_TOFU'; readonly version: string }[]>;

  /** Returns whether this run of Terraform on a cluster is under way and the token belongs to it. */
  isTerraformRun(run: { readonly runId: string; readonly token: string }): Promise<boolean>;

  /**
   * Handles a run's request for its state, in the protocol of Terraform's backend `http`. `body` is null if it was too
   * large. Returns 401 if the run is over or the token does not belong to it.
   */
  terraformState(
    run: { readonly runId: string; readonly token: string },
    request: { readonly method: string; readonly body: string | null },
  ): Promise<{ readonly status: number; readonly body: string | null }>;

  /**
   * Returns the resources left by the latest apply of a Terraform configuration; null if nothing was applied or the
   * configuration is destroyed.
   */
  terraformResources(
    db: Queryable,
    serviceId: string,
  ): Promise<{ readonly resources: readonly TerraformResource[]; readonly extractedAt: string } | null>;

  /**
   * Removes the leftovers of these jobs' ended runs from the cluster, and returns what was removed. Logs and history
   * stay. Jobs without leftovers are missing in the result. Fails with CLUSTER_UNREACHABLE.
   */
  clearEndedRuns(which: { readonly driver: string; readonly serviceIds: readonly string[] }): Promise<readonly ClearedRuns[]>;

  /**
   * Returns the routes that the gateway serves for a service now; null if this process does not know them because it
   * serves nothing, or not yet.
   */
  servedRoutes(driver: string, serviceId: string): readonly ServedRoute[] | null;

  readonly backups: BackupPort;

  /**
   * Returns facts about the local cluster, for its status record and the caps of services; null if the cluster is
   * unreachable.
   */
  describeCluster(driver: string): Promise<ClusterFacts | null>;

  /** Returns the state of a cluster, cached for ten seconds. Takes five seconds at most, and does not fail. */
  clusterState(driver: string): Promise<ClusterState>;

  /** Returns the state of a cluster, queried now. */
  checkCluster(driver: string): Promise<ClusterState>;

  /**
   * Starts the upgrade of a cluster to a version, the `next` of its state, without waiting for its end. Idempotent.
   * Fails with the cluster's objection: CLUSTER_UNREACHABLE, REMOTE_REFUSED.
   */
  upgradeCluster(driver: string, version: string): Promise<void>;

  /**
   * Returns the health of every cluster kept by the keeper of this process, from memory; none in a process that runs no
   * deployments.
   */
  clusterHealth(): readonly ClusterHealth[];

  /**
   * Returns the disk space of this machine's container engine; null if there is no engine or its disk belongs to
   * another machine. Fails if the engine is unreachable.
   */
  engineDisk(signal: AbortSignal): Promise<EngineDisk | null>;

  /** Whether this version supports clusters other than this machine's own. */
  readonly connectsClusters: boolean;
}
