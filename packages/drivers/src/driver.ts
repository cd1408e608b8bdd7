import type { Readable } from 'node:stream';
import type { CallContext } from './call-context.ts';
import type { ClusterHealth } from './cluster-health.ts';
import type { ClusterCharts } from './helm-driver.ts';
import type { ClusterScaling } from './scaling.ts';
import type { ClusterSchedules } from './schedules.ts';
import type { Instance, LogLine, LogPosition, ObjectMetadata, Ownership, Selector, Workload } from './workload.ts';

export type { CallContext } from './call-context.ts';

export interface ClusterDescription {
  /** The engine that answers, such as `docker` or `podman`, whatever the socket is called. */
  readonly engine: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** An event of an instance. It is only a hint to look: after a gap in the events, `observe` returns the true state. */
export interface InstanceEvent {
  /**
   * - CHANGED: something else about the instance has changed, such as whether it is ready.
   * - NOT_LIVE: a cluster with `health` restarts the instance because its liveness probe fails.
   */
  readonly type: 'STARTED' | 'DIED' | 'REMOVED' | 'CHANGED' | 'NOT_LIVE';
  readonly service: string;
  readonly instance: string;
  /** Only for NOT_LIVE: the last attempts of the probe, newest last. Empty if the cluster does not report them. */
  readonly attempts?: readonly string[];
}

/**
 * Resources that an instance has used since it started. A counter that is lower than before was reset by a restart of
 * the instance.
 */
export interface InstanceUsage extends Pick<Instance, 'id' | 'environment' | 'service' | 'rollout' | 'index'> {
  /** When the cluster measured the usage, in milliseconds since 1970. */
  readonly at: number;
  /** Processor time used, in milliseconds. */
  readonly cpuMilliseconds: number;
  /** Memory in use now, without the part of the file cache that the kernel frees when memory is short. */
  readonly memoryBytes: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** Disk usage of all volumes of a service. */
export interface VolumeUsage {
  readonly service: string;
  readonly bytes: number;
}

/** Receives a line. If it returns a promise, the next line is delivered once that promise has resolved. */
export type OnLine = (line: LogLine) => Promise<void> | undefined | void; // oxlint-disable-line typescript/no-invalid-void-type -- most callers return nothing

/** Disk usage of a file system that an instance writes to. */
export interface DiskPressure {
  /** Mount path inside the instance. `/` is everything that is not a volume. */
  readonly path: string;
  readonly bytes: number;
  readonly freeBytes: number;
  /** Maximum number of files; `freeFiles` is how many more fit. Both are 0 if the file system has no such limit. */
  readonly files: number;
  readonly freeFiles: number;
}

/** How close a running instance is to its limits. */
export interface InstancePressure extends Pick<Instance, 'id' | 'service' | 'rollout' | 'index'> {
  /** Identifies one run of the instance, from a start to its exit. Counters are reset with each start. */
  readonly startedAt: string;
  /**
   * Number of processes and threads; null if there is no limit or the number is unknown.
   * `refused`: how many processes and threads could not be created since `startedAt` because the limit was reached.
   * `programs`: what runs most often, for example `4050 × sleep`, most first; empty below half of the limit.
   */
  readonly processes: {
    readonly current: number;
    readonly limit: number;
    readonly refused: number;
    readonly programs: readonly string[];
  } | null;
  /** Number of processes killed for lack of memory since `startedAt`; null if unknown. */
  readonly memoryKills: number | null;
  readonly disks: readonly DiskPressure[];
}

/**
 * Optional capability of a cluster: resource usage of instances and volumes. All methods fail with ENGINE_UNREACHABLE.
 */
export interface ClusterMetrics {
  /**
   * Returns the usage of every running instance, read in one pass. Instances that exit during the pass are omitted.
   * Returns an empty list if nothing on the cluster measures usage, for example no metrics server. Fails with a
   * retryable ENGINE_FAILED if the metrics server is unreachable.
   */
  usage(signal: AbortSignal): Promise<readonly InstanceUsage[]>;
  /**
   * Returns the disk usage of volumes. More expensive than `usage`, as it counts files. Volumes that cannot be
   * inspected are omitted.
   */
  volumes(signal: AbortSignal): Promise<readonly VolumeUsage[]>;
  /**
   * Returns how close the most recently observed instances are to their limits. Cheap enough to call every two seconds.
   * Returns an empty list if this machine cannot measure that.
   */
  pressure(signal: AbortSignal): Promise<readonly InstancePressure[]>;
}

/** Optional capability of a cluster whose instances share a disk that has no other limit. */
export interface ClusterDisk {
  /**
   * Returns the number of bytes that an instance has written to its own file system, without its volumes. Returns null
   * if the instance is gone or the cluster does not report the number. Counts files, so call it for one instance at a
   * time. Fails with ENGINE_UNREACHABLE, ENGINE_FAILED.
   */
  written(instanceId: string, signal: AbortSignal): Promise<number | null>;
  /**
   * Stops an instance (SIGTERM, grace, SIGKILL) and removes it with everything it has written, except its volumes.
   * Succeeds if the instance is already gone.
   */
  remove(instanceId: string, graceSeconds: number, context: CallContext): Promise<void>;
}

/** A route from outside the cluster to a service. */
export interface ClusterRoute {
  /** The id of the service port. Stable. */
  readonly id: string;
  /** Lower-case host names. A leading `*.` stands for exactly one label. */
  readonly hosts: readonly string[];
  /** `/` matches every path. */
  readonly pathPrefix: string;
  readonly internalPort: number;
  /** The Service of a chart that receives the requests. If absent, the Service that Davit created receives them. */
  readonly to?: ChartBackend;
}

/**
 * A Service of a chart, by name or by selectors. Services of the release are preferred over other Services of its
 * namespace.
 */
export type ChartBackend = { readonly release: string } & (
  | { readonly name: string }
  | { readonly selectors: Readonly<Record<string, string>> }
);

/** The routes of a service and the rollout that they lead to. */
export interface ServedRoutes {
  readonly owner: Ownership;
  /** The rollout that receives the requests. */
  readonly rollout: string;
  /** Empty if the service is not reachable from outside. */
  readonly routes: readonly ClusterRoute[];
  /** Labels and annotations that the user adds; none if absent. */
  readonly metadata?: ObjectMetadata | undefined;
}

/** Optional capability of a cluster that routes requests from outside itself, in place of a gateway. */
export interface ClusterRoutes {
  /**
   * Points the names and routes of a service to a running rollout, and replaces the routes of the service with exactly
   * these. After it resolves, new connections reach that rollout as soon as the proxies of the cluster have received
   * the change.
   * Returns lines for the deployment log that explain why requests from outside may still not arrive.
   * Fails with ENGINE_FAILED, ADMISSION_REFUSED, CLUSTER_ACCESS_DENIED, ENGINE_UNREACHABLE.
   */
  apply(served: ServedRoutes, signal: AbortSignal): Promise<readonly string[]>;

  /** Removes all routes of a service. The names of the service inside the cluster stay. Fails as `apply` does. */
  remove(owner: Pick<Ownership, 'environment' | 'service'>, signal: AbortSignal): Promise<void>;
}

/** A service, and the instances that its address points at. */
export interface AddressedService {
  readonly owner: Ownership;
  /** Names of the service in its environment. */
  readonly hostnames: readonly string[];
  readonly instances: readonly Instance[];
  /**
   * Given by callers that act on an observation. Nothing is then changed if this process has pointed the address at
   * these instances before, or if the function returns false: the observation is outdated.
   */
  readonly isCurrent?: () => Promise<boolean>;
}

/**
 * Optional capability of a cluster: each service that `hasAddress` has an address inside its environment, which its
 * names lead to and which stays for the life of the service.
 */
export interface ClusterAddresses {
  /**
   * Points the address of each service at exactly these instances, and restores addresses that were lost. Once it
   * resolves, new connections reach these instances, in turn; existing connections stay with their instance. Without
   * instances, connections are refused. A repetition changes nothing. Services without an address are left alone:
   * `start` gives them one.
   *
   * Tries all services before it fails, with ENGINE_FAILED or ENGINE_UNREACHABLE.
   */
  point(services: readonly AddressedService[], signal: AbortSignal): Promise<void>;
}

/** State of the upgrade of a cluster to another version. */
export interface UpgradeState {
  /**
   * The version that the cluster can be upgraded to, such as `1.36.2+k3s1`; null if there is none. Also set while an
   * upgrade to another version runs.
   */
  readonly next: string | null;
  /**
   * Why no upgrade is possible, in a text that says what to do. Null if one is possible or under way, or if the cluster
   * already runs the version.
   */
  readonly hindrance: string | null;
  /** The version that the nodes are being upgraded to; null if no upgrade is under way. */
  readonly underWay: string | null;
  /** The obstacle to the upgrade under way, in the words of the component that performs it; null if there is none. */
  readonly failure: string | null;
}

/** Optional capability of a cluster that can be upgraded to another version. */
export interface ClusterUpgrades {
  /** Returns the state of the upgrade. Fails with ENGINE_UNREACHABLE, CLUSTER_ACCESS_DENIED. */
  state(signal: AbortSignal): Promise<UpgradeState>;

  /**
   * Starts the upgrade of the cluster to a version, its `next`, and does not wait for the upgrade to end. Calling it
   * again with the same version changes nothing. Fails with ENGINE_FAILED, CLUSTER_ACCESS_DENIED, ENGINE_UNREACHABLE.
   */
  begin(version: string, signal: AbortSignal): Promise<void>;
}

/**
 * A cluster that runs workloads. Every method is idempotent and finds its objects by label. Every method fails with a
 * `DriverError` that names the cause and says whether a retry may help; drivers do not retry. No method touches objects
 * that Davit did not label.
 */
export interface ClusterDriver {
  readonly kind: string;

  /**
   * If true, the object stands for a cluster that this installation does not use: it is empty and never unreachable.
   * Default: false.
   */
  readonly isAbsent?: boolean;

  /**
   * Returns the engine, version and size of the cluster. Fails with ENGINE_UNREACHABLE if the cluster does not answer
   * within 5 s, and with CLUSTER_ACCESS_DENIED if the cluster refuses the credentials. All other methods fail with
   * these too.
   */
  describe(signal: AbortSignal): Promise<ClusterDescription>;

  /**
   * Checks that the cluster is reachable, with the smallest possible request, however large the cluster. Fails as
   * `describe` does.
   */
  ping(signal: AbortSignal): Promise<void>;

  /**
   * Creates the network, volumes and instances of `workload.rollout` and starts the instances; does not wait until they
   * are ready. Instances of other rollouts are left alone. Fails with PORT_TAKEN, DISK_FULL, IMAGE_MISSING,
   * START_FAILED, ENGINE_UNREACHABLE.
   */
  start(workload: Workload, context: CallContext): Promise<void>;

  /**
   * Waits until every instance of the rollout, from `firstInstance` on, is ready. An instance is ready in the first of
   * these cases that applies:
   * - It has a readiness probe: the probe has succeeded `successThreshold` times.
   * - It has ports: each TCP, HTTP and GRPC port accepts connections.
   * - It has no ports: it has run for a second.
   * An instance that exits is restarted up to twice. Fails with PROCESS_EXITED, OUT_OF_MEMORY, PORT_NOT_LISTENING,
   * PROBE_FAILED, each with evidence.
   */
  awaitReady(workload: Workload, context: CallContext): Promise<readonly Instance[]>;

  /**
   * Sets the restart policy: the cluster starts these instances again by itself when they exit, also while Davit does
   * not run. Called once they receive requests. Does nothing where the cluster always does so or never should, nor for
   * instances that are gone. Fails with ENGINE_FAILED if the cluster refuses.
   */
  setRestartPolicy(instances: readonly Instance[], signal: AbortSignal): Promise<void>;

  /** Returns the instances that exist now, ordered by rollout and index. */
  observe(selector: Selector, signal: AbortSignal): Promise<readonly Instance[]>;

  /**
   * Stops (SIGTERM, grace, SIGKILL) and removes the selected instances, in parallel. Volumes, images and networks stay.
   * If the user cancels with `force`, it does not wait for instances without volumes whose node is unreachable.
   */
  retire(selector: Selector, graceSeconds: number, context: CallContext): Promise<void>;

  /** Starts an instance that has exited, or restarts one that is stuck. */
  revive(instanceId: string, context: CallContext): Promise<void>;

  /** Removes the instances, volumes and images of a service. */
  removeService(environment: string, service: string, context: CallContext): Promise<void>;

  /** Removes all remaining objects of an environment, including its network. */
  removeEnvironment(environment: string, context: CallContext): Promise<void>;

  /**
   * Runs one probe once. Returns null if the probe succeeded, otherwise a text that describes the result. Never throws
   * for a failing probe; throws if the cluster is unreachable.
   */
  probe(workload: Workload, instance: Instance, which: 'readiness' | 'liveness', signal: AbortSignal): Promise<string | null>;

  /**
   * Delivers the log lines of an instance after a position (exclusive; null: from the instance's start). Follows the
   * log until the instance exits or the signal aborts. If `onLine` returns a promise, reading pauses until the promise
   * resolves; the promise must not reject.
   */
  followLogs(instanceId: string, position: LogPosition | null, onLine: OnLine, signal: AbortSignal): Promise<void>;

  /**
   * Returns the text of a file inside an instance, which may have exited. Returns null if the path does not exist, is
   * not a file, or is larger than `maxBytes`. Fails with ENGINE_UNREACHABLE, and with a retryable ENGINE_FAILED if the
   * file cannot be read at the moment.
   */
  readFile(
    instanceId: string,
    file: { readonly path: string; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<string | null>;

  /**
   * Returns a file or folder of an instance, which may have exited, as a tar stream. Its entries begin with the last
   * part of `path`. The caller reads the stream to its end or destroys it; the stream fails if the signal aborts. Fails
   * with ENGINE_FAILED (the path does not exist), ENGINE_UNREACHABLE.
   */
  download(instanceId: string, path: string, signal: AbortSignal): Promise<Readable>;

  /**
   * Unpacks a tar archive into an existing folder. If it fails in the middle, the files unpacked so far stay. Fails
   * with the error of the archive's stream, DISK_FULL, ENGINE_FAILED, ENGINE_UNREACHABLE.
   */
  upload(instanceId: string, what: { readonly folder: string; readonly archive: Readable }, signal: AbortSignal): Promise<void>;

  /**
   * Calls `onEvent` for each event until the signal aborts or the connection ends. The caller then calls `watch` again,
   * and `observe`.
   */
  watch(onEvent: (event: InstanceEvent) => void, signal: AbortSignal): Promise<void>;

  /** Absent if the cluster cannot measure usage. */
  readonly metrics?: ClusterMetrics;

  /** Absent if Davit restarts the instances that exit, and runs their probes. */
  readonly health?: ClusterHealth | undefined;

  /** Absent if something other than Davit limits the disk usage of instances. */
  readonly disk?: ClusterDisk | undefined;

  /** Absent if a gateway sends requests to the instances. */
  readonly routes?: ClusterRoutes | undefined;

  /** Absent if names of services lead to addresses that the cluster itself keeps, as Services of Kubernetes do. */
  readonly addresses?: ClusterAddresses | undefined;

  /** Absent if Davit decides the number of instances. */
  readonly scaling?: ClusterScaling | undefined;

  /** Absent if Helm charts cannot be installed on the cluster. */
  readonly charts?: ClusterCharts | undefined;

  /** Absent if Davit does not upgrade the cluster. */
  readonly upgrades?: ClusterUpgrades | undefined;

  /** Absent if Davit starts scheduled runs itself. */
  readonly schedules?: ClusterSchedules | undefined;

  /**
   * Returns the permissions on the cluster that Davit needs and its credentials lack, each as text (`create
   * deployments`); empty if none is missing. Absent if every account that reaches the cluster may do everything. Fails
   * with ENGINE_UNREACHABLE, CLUSTER_ACCESS_DENIED.
   */
  missingPermissions?(signal: AbortSignal): Promise<readonly string[]>;

  /**
   * Returns an id of the cluster that does not depend on the address or credentials used, and that no other cluster
   * has. Returns null if the cluster does not report one. Absent if there is only one way to reach the cluster. Fails
   * with ENGINE_UNREACHABLE, CLUSTER_ACCESS_DENIED.
   */
  identity?(signal: AbortSignal): Promise<string | null>;
}
