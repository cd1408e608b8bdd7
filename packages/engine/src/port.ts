import type { Queryable } from '@davit/db';
import type {
  Changes,
  Heads,
  HistoryCommit,
  HostCertificate,
  HttpChallenge,
  TerraformResource,
  WantedChanges,
} from '@davit/drivers';
import type { BackupPort } from './backups/port.ts';
import type {
  Action,
  FailureRecord,
  JobEvent,
  ReleaseCommand,
  ReleaseCommit,
  ReleaseConfig,
  ServiceOutput,
  TerraformAction,
} from './model.ts';
import type { ActionStatusWord, ActionWord, Phase, StateWord } from './states.ts';

export type * from './backups/port.ts';
export type * from './model.ts';
export type { Changes, Heads, HistoryCommit, TerraformResource } from '@davit/drivers';
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

export type Origin = 'API' | 'CLI' | 'CONSOLE' | 'GIT' | 'SERVICE_INTERNAL' | 'TERRAFORM_PROVIDER';

/** Who asks. Requests of the same actor and action that wait are merged. */
export interface Trigger {
  readonly actor: string;
  readonly triggeredBy: string;
  readonly origin: Origin;
}

/** Where the services are; copied into the deployment, as the engine reads no resource tables. */
export interface EnvironmentPlace {
  readonly organizationId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly clusterId: string;
  readonly driver: string;
}

export interface RequestedService {
  readonly serviceId: string;
  readonly serviceType: string;
  readonly name: string;
  readonly iconUri: string;
  readonly stage: { readonly id: string; readonly name: string; readonly position: number };
  /** DEPLOY: the configuration to run, or an earlier release to run again. Other actions: none. */
  readonly release?: { readonly config: ReleaseConfig; readonly commitId: string | null } | { readonly releaseId: string };
  /** DEPLOY of a job: runs this event once, and neither starts nor ends anything else. Such a request is not merged. */
  readonly event?: JobEvent;
}

export interface DeploymentRequest {
  readonly place: EnvironmentPlace;
  readonly action: Action;
  /** Asked for the environment as a whole: deleting one then also removes what the environment itself has. */
  readonly wholeEnvironment: boolean;
  readonly trigger: Trigger;
  readonly services: readonly RequestedService[];
}

export interface PlannedService {
  readonly serviceId: string;
  readonly name: string;
  readonly steps: readonly string[];
  readonly instances: { readonly from: number; readonly to: number };
  /** True where old and new cannot run side by side: the service does not answer while it is replaced. */
  readonly expectedDowntime: boolean;
  /** What a reader should know before: why a build is needed or not, why there is downtime. */
  readonly notes: readonly string[];
  /** What differs from what runs now, by field or variable name; never values. */
  readonly changes: readonly string[];
}

export interface DeploymentPlan {
  readonly action: Action;
  readonly stages: readonly { readonly name: string; readonly services: readonly PlannedService[] }[];
}

export interface StepView {
  readonly metric: string;
  readonly status: 'SUCCESS' | 'ERROR' | 'CANCEL' | 'SKIP';
  readonly durationMilliseconds: number;
}

/** What the engine knows of a service. */
export interface ServiceView {
  readonly serviceId: string;
  readonly state: StateWord;
  readonly action: ActionWord;
  readonly actionStatus: ActionStatusWord;
  /** Execution id of the latest deployment that took the service out of the queue. */
  readonly executionId: string | null;
  readonly lastDeploymentAt: string | null;
  readonly isPartOfLastDeployment: boolean;
  readonly steps: { readonly details: readonly StepView[]; readonly totalMilliseconds: number | null } | null;
  readonly waitingRequestId: string | null;
  readonly waitingRequests: number;
  readonly failure: FailureRecord | null;
  /** Configuration of the release that runs (or would, if it were not stopped); null: never deployed. */
  readonly deployedConfigHash: string | null;
  readonly deployedReleaseId: string | null;
  readonly deployedCommit: ReleaseCommit | null;
  /** The latest deployment attempt failed or was canceled before it changed what runs. */
  readonly lastAttemptFailed: boolean;
  /** Of a Terraform configuration: what its latest deployment was for; null: no such service. */
  readonly terraformAction: TerraformAction | null;
  /** How many instances should run and how many are ready; null: it has none that stay, or nobody knows. */
  readonly wantedInstances: number | null;
  readonly runningInstances: number | null;
  readonly runningStatus: 'STARTING' | 'RUNNING' | 'WARNING' | 'ERROR' | 'STOPPING' | 'STOPPED' | 'COMPLETED' | null;
}

export interface EnvironmentView {
  /** Of the latest deployment that left the queue, finished or not; null: none yet. */
  readonly last: {
    readonly deploymentId: string;
    readonly executionId: string;
    readonly state: StateWord;
    readonly running: boolean;
    readonly at: string;
    readonly totalMilliseconds: number | null;
    readonly origin: Origin;
    readonly triggeredBy: string;
  } | null;
  readonly waitingRequestId: string | null;
  readonly waitingAction: Action | null;
}

export interface HistoryServiceView {
  readonly deploymentId: string;
  readonly serviceId: string;
  readonly serviceType: string;
  readonly name: string;
  readonly iconUri: string;
  readonly executionId: string | null;
  readonly state: StateWord;
  readonly phase: Phase;
  readonly action: ActionWord;
  readonly actionStatus: ActionStatusWord;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly triggeredBy: string;
  readonly origin: Origin;
  readonly commit: ReleaseCommit | null;
  /** Of the release, or, where the action needed none, of the one that it found deployed; null: there was none. */
  readonly ran: ReleaseCommand | null;
  readonly totalMilliseconds: number;
  readonly releaseId: string | null;
  readonly failure: FailureRecord | null;
  readonly terraformAction: TerraformAction | null;
  readonly stage: { readonly id: string | null; readonly name: string; readonly position: number };
}

export interface DeploymentView {
  readonly deploymentId: string;
  readonly environmentId: string;
  readonly executionId: string | null;
  readonly action: Action;
  readonly status: 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED' | 'WITHDRAWN';
  readonly canceling: boolean;
  readonly state: StateWord;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly triggeredBy: string;
  readonly origin: Origin;
  readonly totalMilliseconds: number;
  readonly services: readonly HistoryServiceView[];
}

export interface Page {
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  /** Only what came before this deployment of the same environment or service; of another one: nothing. */
  readonly before?: string | undefined;
}

export interface DeploymentLogLine {
  /** Rises within the installation. */
  readonly number: number;
  readonly at: string;
  readonly level: 'INFO' | 'WARNING' | 'ERROR';
  readonly step: string;
  readonly message: string;
  readonly service: { readonly id: string; readonly name: string; readonly type: string } | null;
  readonly stage: { readonly id: string | null; readonly name: string } | null;
  readonly failure: FailureRecord | null;
}

export type LogLines = { readonly numbers: readonly number[] } | { readonly after: number; readonly limit: number };

export interface ServiceLogLine {
  /** Rises within the installation. */
  readonly number: number;
  readonly id: string;
  readonly at: string;
  readonly message: string;
  readonly instance: string;
  readonly releaseId: string | null;
}

/** What a service used in a step of time. */
export interface MetricsStep {
  /** Its beginning, ISO 8601. */
  readonly at: string;
  /** On average of the passes, and the most. */
  readonly instances: number;
  readonly mostInstances: number;
  /** Of all instances together, on average; null: not measured. */
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number;
  readonly mostMemoryBytes: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** What its volumes held at the end; null: it has none, or they cannot be looked into. */
  readonly volumeBytes: number | null;
  /** Of HTTP and gRPC through the gateway, and connections of TCP. */
  readonly requests: number;
  /** By class, `1xx` first. */
  readonly responses: readonly number[];
  /** By `latencyBuckets`. */
  readonly latencyCounts: readonly number[];
  /** Percentiles in milliseconds; null: no answer came from an instance. */
  readonly latency: { readonly p50: number; readonly p90: number; readonly p99: number } | null;
}

/** A change of the number of instances that Davit made by itself. */
export interface ScalingView {
  readonly at: string;
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** Counters of a service since it was first measured. */
export interface MetricsTotal {
  readonly organizationId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly serviceId: string;
  /** null: it was not measured lately. */
  readonly now: { readonly instances: number; readonly memoryBytes: number; readonly volumeBytes: number | null } | null;
  readonly cpuMilliseconds: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly requests: number;
  readonly responses: readonly number[];
  readonly latencyCounts: readonly number[];
}

/** A git repository, reached as a deployment would. */
export interface RepositoryQuestion {
  readonly driver: string;
  readonly url: string;
  /** null: the repository's default branch. */
  readonly branch: string | null;
  readonly gitTokenId: string | null;
}

/** Files of a git repository at the newest commit of a branch. */
export interface SourceQuestion extends RepositoryQuestion {
  /** Folder that the paths start from. */
  readonly rootPath: string;
  readonly paths: readonly string[];
}

/** A way from the gateway to a service. */
export interface ServedRoute {
  /** Of the port. */
  readonly id: string;
  /** Instances that it leads to. */
  readonly backends: number;
}

/** What was removed of a job's ended runs. */
export interface ClearedRuns {
  readonly serviceId: string;
  /** Names that the cluster had for them. */
  readonly instances: readonly string[];
}

type OrFailure<Answer> = Promise<Answer | { readonly failure: FailureRecord }>;

/** Looks at branches and commits of git repositories. Changes nothing; gives an answer, or why there is none, within a minute. */
export interface SourceReader {
  /** Branches with their newest commits. */
  heads(question: RepositoryQuestion): OrFailure<Heads>;
  /** How two commits differ; see the driver. */
  changes(question: RepositoryQuestion & WantedChanges): OrFailure<Changes>;
  /** The newest commits of the branch, newest first. */
  history(question: RepositoryQuestion & { readonly limit: number }): OrFailure<{ readonly commits: readonly HistoryCommit[] }>;
}

/** Their texts in order, null for what is not there; or why the repository could not be read. */
export type SourceAnswer =
  | { readonly commitId: string; readonly files: readonly (string | null)[] }
  | { readonly failure: FailureRecord };

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

  /** Programs of this machine that run Terraform configurations. */
  terraformVersions(): Promise<readonly { readonly engine: 'TERRAFORM' | 'OPEN_TOFU'; readonly version: string }[]>;

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
  describeCluster(driver: string): Promise<{
    readonly engine: string;
    readonly version: string;
    readonly cpuMillicores: number;
    readonly memoryMiB: number;
  } | null>;
}

/** Of the host names that services answer under. */
export interface GatewayDomains {
  /** Served where a service answers under the host. `redirect`: unless the service wants HTTP too. */
  readonly certificates: readonly HostCertificate[];
  readonly challenges: readonly HttpChallenge[];
}

/** What the engine asks of the resources; handed in where the program is composed, so that it knows none of their tables. */
export interface EngineHooks {
  /** Values of secret versions by id. One that is gone is missing in the map. */
  secrets(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** What a git host wants for a git token; null: the token was deleted. */
  gitCredentials(gitTokenId: string): Promise<{ readonly username: string; readonly password: string } | null>;
  /** Of a container registry; null: it needs none; undefined: there is no such registry. */
  registryCredentials(registryId: string): Promise<{ readonly username: string; readonly password: string } | null | undefined>;
  /**
   * What DNS says against the custom domains of a service, a line each; for the log of its deployment. Answers within seconds and
   * never fails.
   */
  domainRemarks?(serviceId: string): Promise<readonly string[]>;
  /**
   * What gateways must know of domains beside what runs; left out: nothing. Asked for at the start, at each notification on
   * `domainsChannel`, and now and then.
   */
  gatewayDomains?(): Promise<GatewayDomains>;
  /** A deployment leaves the queue. In the transaction that starts it: once for each deployment. */
  deploymentStarted(tx: Queryable, deploymentId: string, action: Action): Promise<void>;
  /** A deployment that was started ends. In the transaction that ends it, before anything else is removed: once. */
  deploymentEnded(
    tx: Queryable,
    deploymentId: string,
    action: Action,
    status: 'SUCCEEDED' | 'FAILED' | 'CANCELED',
  ): Promise<void>;
  /** A service is off its cluster: remove its record. In the transaction that ends its deployment. Idempotent. */
  serviceDeleted(tx: Queryable, serviceId: string): Promise<void>;
  /** An environment is off its cluster: remove its record and what is below. Idempotent. */
  environmentDeleted(tx: Queryable, environmentId: string): Promise<void>;
  /** Encrypts what the engine keeps, and decrypts it; the id of its record belongs to it. */
  seal(recordId: string, text: string): Uint8Array;
  open(recordId: string, sealed: Uint8Array): string;
  /** What a run of a service that succeeded told, in place of what the run before it did; empty: nothing any more. Idempotent. */
  serviceOutputs(serviceId: string, outputs: readonly ServiceOutput[]): Promise<void>;
}
