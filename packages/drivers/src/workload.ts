import type { Sensitive } from '@davit/base';

/**
 * The owner of an object on a cluster. Becomes the object's labels; Davit finds, adopts and removes objects by these
 * labels only.
 */
export interface Ownership {
  /** The Davit installation. Two installations on one engine do not see each other's objects. */
  readonly installation: string;
  readonly organization: string;
  readonly project: string;
  readonly environment: string;
  readonly service: string;
}

export type PortProtocol = 'HTTP' | 'GRPC' | 'TCP' | 'UDP';

export interface WorkloadPort {
  readonly id: string;
  readonly internalPort: number;
  readonly protocol: PortProtocol;
  /** Port of the host that the engine itself publishes. Only for UDP, which the gateway cannot carry. */
  readonly hostPort?: number;
}

export interface WorkloadVolume {
  /** Id of the storage record. It names the volume, so the data outlives instances and releases. */
  readonly id: string;
  readonly mountPath: string;
  /** Requested size. The local engine cannot enforce it and logs that. */
  readonly sizeGiB: number;
}

export interface WorkloadFile {
  /** Absolute path in the container. */
  readonly path: string;
  readonly content: Sensitive;
}

export interface EnvironmentEntry {
  readonly name: string;
  /** Opaque: the process receives it byte for byte. */
  readonly value: Sensitive;
}

export type ProbeCheck =
  | { readonly type: 'tcp'; readonly port: number; readonly host: string | null }
  | { readonly type: 'http'; readonly port: number; readonly path: string; readonly scheme: 'HTTP' | 'HTTPS' }
  | { readonly type: 'exec'; readonly command: readonly string[] }
  | { readonly type: 'grpc'; readonly port: number; readonly service: string | null };

/** A health check of an instance. All times are in seconds. */
export interface Probe {
  readonly check: ProbeCheck;
  /** Failures before this time do not count. Successes do, so that an instance that starts quickly is ready at once. */
  readonly initialDelaySeconds: number;
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

export const markedKinds = [
  'Deployment',
  'StatefulSet',
  'Job',
  'CronJob',
  'Pod',
  'Secret',
  'Service',
  'Ingress',
  'HTTPRoute',
  'HorizontalPodAutoscaler',
] as const;

/**
 * Labels and annotations that users want on the objects of a service. Davit does not use them itself; other tools read
 * them.
 */
export interface ObjectMetadata {
  /** Labels for all objects. */
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations by kind of object. */
  readonly annotations: Readonly<Partial<Record<(typeof markedKinds)[number], Readonly<Record<string, string>>>>>;
}

/** The instances of one release that a cluster must run. Plain and complete data: a driver looks up nothing else. */
export interface Workload {
  readonly owner: Ownership;
  /** The service's name, for people. It is part of container names and log lines. Not unique. */
  readonly name: string;
  readonly release: string;
  /**
   * One replacement of all instances. A restart is a new rollout of the same release. Instances are identified by
   * (service, rollout, index): starting the same rollout twice adopts the instances of the first call.
   */
  readonly rollout: string;
  /** Reference or id of an image that the engine has. */
  readonly image: string;
  /** Replaces the image's entrypoint. Empty: the image's entrypoint is used. */
  readonly entrypoint: readonly string[];
  /** Replaces the image's command. Empty: the image's command is used. */
  readonly arguments: readonly string[];
  readonly environment: readonly EnvironmentEntry[];
  readonly files: readonly WorkloadFile[];
  readonly ports: readonly WorkloadPort[];
  /**
   * Absolute paths of folders that are created in the container and that its process can write to, whatever user it
   * runs as.
   */
  readonly folders?: readonly string[];
  /**
   * Size limit of each of `folders`, in GiB. Absent: they have no limit of their own. Only set if the cluster can
   * enforce it.
   */
  readonly folderGiB?: number;
  readonly volumes: readonly WorkloadVolume[];
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
  readonly instances: number;
  /**
   * Index of the first instance to start; instances with a lower index are left as they are. Absent: 0, all instances.
   */
  readonly firstInstance?: number;
  /** Names under which other services of the environment reach this service. */
  readonly hostnames: readonly string[];
  /**
   * The names lead to an address of the service that stays while instances are replaced, if the driver has `addresses`.
   * Absent for instances that do not serve.
   */
  readonly hasAddress?: true;
  /**
   * If true, the workload is a deployment of the service that currently owns these names: names that another service
   * had lead to this one from then on. If absent, names that another service has taken meanwhile stay with that
   * service, as the started workload may be older. Only matters on clusters where a name leads to one service only.
   */
  readonly takesNames?: true;
  readonly readiness: Probe | null;
  readonly liveness: Probe | null;
  /** Seconds within which the instances must become ready; after that the rollout has failed. */
  readonly readyTimeoutSeconds: number;
  /** Seconds between SIGTERM and SIGKILL. */
  readonly terminationGraceSeconds: number;
  /** If true, processes can write to volumes only. */
  readonly readOnlyRootFilesystem?: boolean;
  /**
   * The workload exits by itself (a run of a job, a bench). It is started once, and its exited instance stays until it
   * is retired.
   */
  readonly runsOnce?: true;
  /**
   * The image works as any user. The workload then runs as root if the cluster allows that, and as nobody (65534)
   * otherwise.
   */
  readonly runsAsAnyUser?: true;
  /** Labels and annotations that the user adds; none if absent. */
  readonly metadata?: ObjectMetadata;
  /**
   * Registry and credentials for a cluster that pulls images itself. Absent: the cluster pulls without credentials.
   * Ignored if Davit transfers the images.
   */
  readonly registry?: WorkloadRegistry;
}

/** The registry of a workload's image. */
export interface WorkloadRegistry {
  /** Host and optional port, as in the image's reference; `https://index.docker.io/v1/` for Docker Hub. */
  readonly host: string;
  readonly credentials: { readonly username: string; readonly password: Sensitive };
}

export type InstanceState = 'CREATED' | 'RUNNING' | 'EXITED';

export interface InstanceExit {
  readonly code: number;
  readonly outOfMemory: boolean;
  readonly at: string;
}

/** The latest exit of an instance, whether or not the instance runs again. */
export interface InstanceEnd {
  /** Null if the cluster recorded only when the instance exited, not how. */
  readonly code: number | null;
  readonly outOfMemory: boolean;
  readonly at: string;
  /** The cluster's own message if the cluster ended the instance, for example by an eviction. */
  readonly words?: string;
}

/** One instance as the cluster currently reports it. */
export interface Instance {
  /** The cluster's own id (container id, pod uid). */
  readonly id: string;
  readonly name: string;
  readonly environment: string;
  readonly service: string;
  readonly release: string;
  readonly rollout: string;
  readonly index: number;
  readonly state: InstanceState;
  /** Time of the latest start in ISO 8601; null before the first start. */
  readonly startedAt: string | null;
  readonly exit: InstanceExit | null;
  /** The instance runs, but the cluster, which probes it itself, sends it no requests. */
  readonly unready?: true;
  /** Absent if, as far as the cluster remembers, the instance has never exited. */
  readonly lastEnd?: InstanceEnd;
  /**
   * How often the cluster itself has restarted the instance, including the restart that follows its latest exit. Absent
   * if the cluster does not restart instances, or never restarted this one.
   */
  readonly restarts?: number;
  /** Seconds that the cluster waits before the next restart; absent if unknown. */
  readonly restartPauseSeconds?: number;
  /**
   * Addresses at which the gateway and the probes of this machine reach each port of the workload. Empty while the
   * instance does not run.
   */
  readonly endpoints: readonly Endpoint[];
  /** Address of the running instance in the network of its environment. Absent on clusters without `addresses`. */
  readonly address?: string;
  /** The names of the service lead to an address of the service, not to this instance. */
  readonly isAddressed?: true;
  /** The instance is a run that the cluster itself started by a schedule. The cluster also makes its retries. */
  readonly scheduled?: true;
  /** The cluster does not start the instance again by itself until `setRestartPolicy` is called. */
  readonly needsRestartPolicy?: true;
  /** Only for a scheduled run: the contents of its folders are lost, as no reader fetched them in time. */
  readonly foldersLost?: true;
}

export interface Endpoint {
  readonly internalPort: number;
  readonly host: string;
  readonly port: number;
}

/** Selects instances. Absent fields match all. */
export interface Selector {
  readonly environment?: string;
  readonly service?: string;
  readonly rollout?: string;
  /** Excludes this rollout. */
  readonly exceptRollout?: string;
  /** Selects instances with this index or a higher one. */
  readonly fromIndex?: number;
}

export interface LogLine {
  /**
   * ISO 8601 with as many digits as the engine gives (nanoseconds on Docker). Orders the lines, and is the position at
   * which to resume.
   */
  readonly timestamp: string;
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
  /**
   * The pod that wrote the line (its uid), on clusters where several pods replace each other behind one instance.
   * Timestamps of two origins do not order their lines.
   */
  readonly origin?: string;
}

/** The position up to which the output of an instance has been read. */
export interface LogPosition {
  /** Timestamp up to which no line is delivered again, whatever its origin; null if only `origins` count. */
  readonly at: string | null;
  /** Timestamp of the last line read from each origin, for lines that have an origin. */
  readonly origins?: Readonly<Record<string, string>>;
}
