import type { Readable } from 'node:stream';
import type { ClusterCharts } from './helm-driver.ts';
import type { ClusterScaling } from './scaling.ts';
import type { ClusterSchedules } from './schedules.ts';
import type { Instance, LogLine, LogPosition, ObjectMetadata, Ownership, Selector, Workload } from './workload.ts';

/** What every call that takes long gets. */
export interface CallContext {
  /** Aborted on cancel, loss of the lease, or deadline: stop soon, leave what is there to `retire` and `remove`. */
  readonly signal: AbortSignal;
  /** Aborted with `signal` where another process takes up what is done here: what runs by itself is then left running. */
  readonly leave?: AbortSignal;
  /** Aborted where nothing is to be waited for any more, as the user canceled with force. */
  readonly force?: AbortSignal;
  /** A line for the deployment log. Redacted by the caller's callee; still, never hand it a secret. */
  log(line: string): void;
}

export interface ClusterDescription {
  /** `docker` or `podman`, …: the engine that answers, whatever the socket is called. */
  readonly engine: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** What happened to an instance; a hint to look, never the truth: after a gap, `observe` tells. */
export interface InstanceEvent {
  readonly type: 'STARTED' | 'DIED' | 'REMOVED';
  readonly service: string;
  readonly instance: string;
}

/** What an instance has used since it started; a counter that is lower than before began anew, as the instance did. */
export interface InstanceUsage extends Pick<Instance, 'id' | 'environment' | 'service' | 'rollout' | 'index'> {
  /** When the cluster read it, in milliseconds since 1970. */
  readonly at: number;
  /** Of processor time. */
  readonly cpuMilliseconds: number;
  /** Now. Without the part of the file cache that the kernel gives up when memory is short. */
  readonly memoryBytes: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** What the volumes of a service hold. */
export interface VolumeUsage {
  readonly service: string;
  readonly bytes: number;
}

/** Takes a line; a promise is resolved when the next one is wanted. */
export type OnLine = (line: LogLine) => Promise<void> | undefined | void; // oxlint-disable-line typescript/no-invalid-void-type -- most callers return nothing

/** A file system that an instance writes to. */
export interface DiskPressure {
  /** Where it is in the instance; `/` is everything that is no volume. */
  readonly path: string;
  readonly bytes: number;
  readonly freeBytes: number;
  /** How many files it can hold, and how many more; 0 and 0: it has no such limit. */
  readonly files: number;
  readonly freeFiles: number;
}

/** How near an instance that runs is to its limits. */
export interface InstancePressure extends Pick<Instance, 'id' | 'service' | 'rollout' | 'index'> {
  /** Tells the lives of an instance apart: counters begin anew with each. */
  readonly startedAt: string;
  /** `refused`: how many processes and threads could not be made in this life, as there were too many. null: without a limit, or not known. */
  readonly processes: { readonly current: number; readonly limit: number; readonly refused: number } | null;
  /** How many processes of this life were killed for memory; null: not known. */
  readonly memoryKills: number | null;
  readonly disks: readonly DiskPressure[];
}

/** Optional power of a cluster: what instances and volumes use. All fail with ENGINE_UNREACHABLE. */
export interface ClusterMetrics {
  /**
   * Of every instance that runs, in one pass; what ends meanwhile is left out. Nothing where nobody on the cluster measures; fails with a retryable
   * ENGINE_FAILED where who does is away.
   */
  usage(signal: AbortSignal): Promise<readonly InstanceUsage[]>;
  /** Counts files, so it costs more; volumes that cannot be looked into are left out. */
  volumes(signal: AbortSignal): Promise<readonly VolumeUsage[]>;
  /**
   * How near the instances that were last observed are to their limits. Cheap enough for every other second. Nothing where that cannot be
   * seen from here.
   */
  pressure(signal: AbortSignal): Promise<readonly InstancePressure[]>;
}

/** Optional power of a cluster whose instances share a disk that nothing else limits. */
export interface ClusterDisk {
  /**
   * Bytes that an instance has written into its own file system, without its volumes; null: it is gone, or the cluster does not say.
   * To be asked for one at a time, as files are counted. Fails with ENGINE_UNREACHABLE, ENGINE_FAILED.
   */
  written(instanceId: string, signal: AbortSignal): Promise<number | null>;
  /** Stops an instance (SIGTERM, grace, SIGKILL) and removes it with what it has written; volumes stay. One that is gone is fine. */
  remove(instanceId: string, graceSeconds: number, context: CallContext): Promise<void>;
}

/** A way from outside to a service. */
export interface ClusterRoute {
  /** Stable: the service port's id. */
  readonly id: string;
  /** Lower-case host names; `*.` in front stands for exactly one label. */
  readonly hosts: readonly string[];
  /** `/` is everything. */
  readonly pathPrefix: string;
  readonly internalPort: number;
  /** The Service of a chart that gets the requests, by its name or by what it selects; left out: the one that Davit made. */
  readonly to?: ChartBackend;
}

/** A Service of the release of a chart, or one that its namespace got otherwise: those of the release come first. */
export type ChartBackend = { readonly release: string } & (
  | { readonly name: string }
  | { readonly selectors: Readonly<Record<string, string>> }
);

/** What of a service is to be reached from outside, and where. */
export interface ServedRoutes {
  readonly owner: Ownership;
  /** The rollout that gets the requests. */
  readonly rollout: string;
  /** None: the service is not reached from outside. */
  readonly routes: readonly ClusterRoute[];
  /** Absent: nothing. */
  readonly metadata?: ObjectMetadata | undefined;
}

/** Optional power of a cluster that has a front door of its own, in place of a gateway. */
export interface ClusterRoutes {
  /**
   * Makes names and routes of a service lead to a rollout that runs, and the service have exactly these routes. When it resolves, new
   * connections go there as soon as the cluster's proxies have heard of it. Answers lines for the deployment log: why requests from outside
   * may not arrive all the same. Fails with ENGINE_FAILED, ADMISSION_REFUSED,
   * CLUSTER_ACCESS_DENIED, ENGINE_UNREACHABLE.
   */
  apply(served: ServedRoutes, signal: AbortSignal): Promise<readonly string[]>;

  /** Takes all routes of a service away. Its names inside the cluster stay. Fails as `apply` does. */
  remove(owner: Pick<Ownership, 'environment' | 'service'>, signal: AbortSignal): Promise<void>;
}

/** How far a cluster is with another version of itself. */
export interface UpgradeState {
  /** The version that it can be brought to, as `1.36.2+k3s1`, also while it is being brought to another one; null: none. */
  readonly next: string | null;
  /** Why there is none, in words that say what to do; null: there is one, or one is under way, or it has it. */
  readonly hindrance: string | null;
  /** The version that its nodes are being brought to; null: nothing is under way. */
  readonly underWay: string | null;
  /** What hinders that, in the words of whoever does it; null: nothing. */
  readonly failure: string | null;
}

/** Optional power of a cluster that can be brought to another version of itself. */
export interface ClusterUpgrades {
  /** Fails with ENGINE_UNREACHABLE, CLUSTER_ACCESS_DENIED. */
  state(signal: AbortSignal): Promise<UpgradeState>;

  /**
   * Has the cluster brought to a version, its `next`, and does not wait for it. Again with the same version: changes nothing. Fails with
   * ENGINE_FAILED, CLUSTER_ACCESS_DENIED, ENGINE_UNREACHABLE.
   */
  begin(version: string, signal: AbortSignal): Promise<void>;
}

/**
 * A cluster that runs workloads. Every method is idempotent, finds its objects by label, and fails with a `DriverError` that
 * says its cause and whether trying again may help; drivers do not retry. No method touches what Davit did not label.
 */
export interface ClusterDriver {
  readonly kind: string;

  /** Stands for a cluster that this installation works without: it is empty and cannot be unreachable. Default: false. */
  readonly isAbsent?: boolean;

  /**
   * Asks the cluster who it is. Fails with ENGINE_UNREACHABLE within 5 s when nobody answers, and with CLUSTER_ACCESS_DENIED when it
   * refuses the credentials, as all other methods do too.
   */
  describe(signal: AbortSignal): Promise<ClusterDescription>;

  /** Asks whether it answers, and nothing else: as small a question as there is, however large the cluster. Fails as `describe` does. */
  ping(signal: AbortSignal): Promise<void>;

  /**
   * Makes network, volumes and instances of `workload.rollout` exist and start; does not wait until they are ready. Instances
   * of other rollouts are left alone. Fails with PORT_TAKEN, DISK_FULL, IMAGE_MISSING, START_FAILED, ENGINE_UNREACHABLE.
   */
  start(workload: Workload, context: CallContext): Promise<void>;

  /**
   * Waits until every instance of the rollout, from `firstInstance` on, is ready: its readiness probe succeeds `successThreshold` times, or, without
   * one, each TCP, HTTP and GRPC port accepts connections, or, without ports, it has run for a second. An instance that exits
   * is started again up to twice. Fails with PROCESS_EXITED, OUT_OF_MEMORY, PORT_NOT_LISTENING, PROBE_FAILED, each with evidence.
   */
  awaitReady(workload: Workload, context: CallContext): Promise<readonly Instance[]>;

  /** What is there now, in the order of rollout and index. */
  observe(selector: Selector, signal: AbortSignal): Promise<readonly Instance[]>;

  /**
   * Stops (SIGTERM, grace, SIGKILL) and removes the instances selected, in parallel. Volumes, images and networks stay. With `force` it does not
   * wait for instances without volumes that a node which does not answer holds up.
   */
  retire(selector: Selector, graceSeconds: number, context: CallContext): Promise<void>;

  /** Starts an instance that exited, or restarts one that is stuck. */
  revive(instanceId: string, context: CallContext): Promise<void>;

  /** Removes instances and volumes of a service, and its images. */
  removeService(environment: string, service: string, context: CallContext): Promise<void>;

  /** Removes all that is left of an environment, its network included. */
  removeEnvironment(environment: string, context: CallContext): Promise<void>;

  /**
   * One probe, once: null when it succeeded, otherwise what was seen, in words. Never throws for a failing probe; does so where the
   * cluster cannot be asked.
   */
  probe(workload: Workload, instance: Instance, which: 'readiness' | 'liveness', signal: AbortSignal): Promise<string | null>;

  /**
   * Lines of an instance after a position (exclusive; null: from its start). Follows until the instance ends or the signal aborts. Where
   * `onLine` returns a promise no more is read until that resolves; it must not reject.
   */
  followLogs(instanceId: string, position: LogPosition | null, onLine: OnLine, signal: AbortSignal): Promise<void>;

  /**
   * The text of a file inside an instance, which may have ended; null: there is none, it is no file, or larger than that. Fails with
   * ENGINE_UNREACHABLE, and with a retryable ENGINE_FAILED where that cannot be known now.
   */
  readFile(
    instanceId: string,
    file: { readonly path: string; readonly mostBytes: number },
    signal: AbortSignal,
  ): Promise<string | null>;

  /**
   * A file or folder of an instance, which may have ended, as a tar whose entries begin with the last part of `path`. The caller reads
   * it to its end or destroys it; it breaks where the signal aborts. Fails with ENGINE_FAILED (nothing is there), ENGINE_UNREACHABLE.
   */
  takeOut(instanceId: string, path: string, signal: AbortSignal): Promise<Readable>;

  /**
   * Unpacks a tar below a folder that is there. What breaks in the middle leaves a part of it behind. Fails with what the archive's
   * stream fails with, DISK_FULL, ENGINE_FAILED, ENGINE_UNREACHABLE.
   */
  putInto(instanceId: string, what: { readonly folder: string; readonly archive: Readable }, signal: AbortSignal): Promise<void>;

  /** Calls back on events until the signal aborts or the connection ends; the caller calls again and observes. */
  watch(onEvent: (event: InstanceEvent) => void, signal: AbortSignal): Promise<void>;

  /** Absent: the cluster cannot tell. */
  readonly metrics?: ClusterMetrics;

  /** Absent: others watch what instances write. */
  readonly disk?: ClusterDisk | undefined;

  /** Absent: a gateway sends requests to the instances. */
  readonly routes?: ClusterRoutes | undefined;

  /** Absent: Davit decides how many instances there are. */
  readonly scaling?: ClusterScaling | undefined;

  /** Absent: charts of Helm are not installed on it. */
  readonly charts?: ClusterCharts | undefined;

  /** Absent: whoever installed the cluster upgrades it. */
  readonly upgrades?: ClusterUpgrades | undefined;

  /** Absent: Davit starts the runs of schedules. */
  readonly schedules?: ClusterSchedules | undefined;

  /**
   * What Davit needs to do on the cluster and may not with its credentials, each in words (`create deployments`); empty: nothing is
   * missing. Absent: whoever reaches the cluster may do everything. Fails with ENGINE_UNREACHABLE, CLUSTER_ACCESS_DENIED.
   */
  missingPermissions?(signal: AbortSignal): Promise<readonly string[]>;

  /**
   * The same whatever the cluster is reached by, and never that of another one. Null: it does not say; absent: there is only one way to it.
   * Fails with ENGINE_UNREACHABLE, CLUSTER_ACCESS_DENIED.
   */
  identity?(signal: AbortSignal): Promise<string | null>;
}
