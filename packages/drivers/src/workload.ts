import type { Sensitive } from '@davit/base';

/** Who an object of a cluster belongs to. Becomes its labels; Davit finds, adopts and collects by them and by nothing else. */
export interface Ownership {
  /** The Davit installation: two of them on one engine do not see each other's objects. */
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
  /** Port of the host that the engine itself must publish. Only for UDP, which the gateway cannot carry. */
  readonly hostPort?: number;
}

export interface WorkloadVolume {
  /** Id of the storage record; names the volume, so that data outlives instances and releases. */
  readonly id: string;
  readonly mountPath: string;
  /** Wanted size. The local engine cannot enforce it and says so in the log. */
  readonly sizeGiB: number;
}

export interface WorkloadFile {
  /** Absolute path in the container. */
  readonly path: string;
  readonly content: Sensitive;
}

export interface EnvironmentEntry {
  readonly name: string;
  /** Opaque: arrives in the process byte for byte. */
  readonly value: Sensitive;
}

export type ProbeCheck =
  | { readonly type: 'tcp'; readonly port: number; readonly host: string | null }
  | { readonly type: 'http'; readonly port: number; readonly path: string; readonly scheme: 'HTTP' | 'HTTPS' }
  | { readonly type: 'exec'; readonly command: readonly string[] }
  | { readonly type: 'grpc'; readonly port: number; readonly service: string | null };

/** All times in seconds. */
export interface Probe {
  readonly check: ProbeCheck;
  /** Failures before this time do not count; a success does, so that a quick start is not slept through. */
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

/** What users want written on what a service is on a cluster; only of use where others read it. */
export interface ObjectMetadata {
  /** On all objects. */
  readonly labels: Readonly<Record<string, string>>;
  /** By the kind of object. */
  readonly annotations: Readonly<Partial<Record<(typeof markedKinds)[number], Readonly<Record<string, string>>>>>;
}

/** What is asked of a cluster: so many instances of one release. Plain data, complete: a driver looks nothing else up. */
export interface Workload {
  readonly owner: Ownership;
  /** The service's name, for people: part of container names and log lines. Not unique. */
  readonly name: string;
  readonly release: string;
  /**
   * One replacement of all instances. A restart is a new rollout of the same release. Instances are identified by
   * (service, rollout, index): asking twice for the same rollout adopts what the first call made.
   */
  readonly rollout: string;
  /** Reference or id of an image that the engine has. */
  readonly image: string;
  /** Replaces the image's entrypoint; empty: the image's. */
  readonly entrypoint: readonly string[];
  /** Replaces the image's command; empty: the image's. */
  readonly arguments: readonly string[];
  readonly environment: readonly EnvironmentEntry[];
  readonly files: readonly WorkloadFile[];
  readonly ports: readonly WorkloadPort[];
  /** Folders that are made in the container for its process to write to, whatever user it runs as. Absolute. */
  readonly folders?: readonly string[];
  /** What each of them may hold. Absent: no limit of its own. Only where the cluster can hold to it. */
  readonly folderGiB?: number;
  readonly volumes: readonly WorkloadVolume[];
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
  readonly instances: number;
  /** Index of the first of them; the ones before it are left as they are. Absent: 0, all of them. */
  readonly firstInstance?: number;
  /** Names under which other services of the environment reach this one. */
  readonly hostnames: readonly string[];
  /**
   * A deployment of the service that is called so now: what another one had of these names leads here from then on. Absent: names that
   * another service has by now stay with it, as what is started may be older than that. Where a name leads to one service only.
   */
  readonly takesNames?: true;
  readonly readiness: Probe | null;
  readonly liveness: Probe | null;
  /** How long the instances may take to become ready before the rollout has failed. */
  readonly readyTimeoutSeconds: number;
  /** Time between SIGTERM and SIGKILL. */
  readonly terminationGraceSeconds: number;
  /** Processes can write to volumes only. */
  readonly readOnlyRootFilesystem?: boolean;
  /** It ends by itself (a run of a job, a bench): it is started once, and stays as it ended until it is retired. */
  readonly runsOnce?: true;
  /** Its image works whoever it runs as: it then runs as root where the cluster allows that, and as nobody elsewhere. */
  readonly runsAsAnyUser?: true;
  /** Absent: nothing. */
  readonly metadata?: ObjectMetadata;
  /** With what a cluster that pulls images itself does so; absent: without. Where Davit brings images it is not looked at. */
  readonly registry?: WorkloadRegistry;
}

/** The registry of a workload's image. */
export interface WorkloadRegistry {
  /** Host and perhaps port, as in the image's reference; `https://index.docker.io/v1/` for Docker Hub. */
  readonly host: string;
  readonly credentials: { readonly username: string; readonly password: Sensitive };
}

export type InstanceState = 'CREATED' | 'RUNNING' | 'EXITED';

export interface InstanceExit {
  readonly code: number;
  readonly outOfMemory: boolean;
  readonly at: string;
}

/** The latest end of an instance, whether it runs again or not. */
export interface InstanceEnd {
  /** null: the cluster remembers when it ended, but not how. */
  readonly code: number | null;
  readonly outOfMemory: boolean;
  readonly at: string;
  /** In the cluster's own words, where the cluster ended it: an eviction. */
  readonly words?: string;
}

/** One instance as the cluster shows it now. */
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
  /** ISO 8601; of the latest start, null before the first. */
  readonly startedAt: string | null;
  readonly exit: InstanceExit | null;
  /** Left out: it has not ended, as far as the cluster remembers. */
  readonly lastEnd?: InstanceEnd;
  /** How often the cluster itself has started it again; left out: it does not do that, or never did. */
  readonly restarts?: number;
  /** How long the cluster waits before it starts it the next time, in seconds; left out: that is not known. */
  readonly restartPauseSeconds?: number;
  /** Where the gateway and probes of this machine reach each port of the workload; empty while it does not run. */
  readonly endpoints: readonly Endpoint[];
  /** A run that the cluster itself began by a schedule; its attempts, too, are the cluster's. */
  readonly scheduled?: true;
  /** Of such a run: what it left in its folders waited for a reader in vain, and is gone. */
  readonly foldersLost?: true;
}

export interface Endpoint {
  readonly internalPort: number;
  readonly host: string;
  readonly port: number;
}

/** Selects instances. Fields that are absent match all. */
export interface Selector {
  readonly environment?: string;
  readonly service?: string;
  readonly rollout?: string;
  /** All but this rollout. */
  readonly exceptRollout?: string;
  /** Instances of this index and above. */
  readonly fromIndex?: number;
}

export interface LogLine {
  /** ISO 8601 with as many digits as the engine gives (nanoseconds on Docker): orders lines and is where to resume. */
  readonly timestamp: string;
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
  /**
   * Where the cluster may have an instance printed by several at a time, which take each other's place: by which of them (uid of a pod). Times
   * of two origins say nothing of their order.
   */
  readonly origin?: string;
}

/** As far as which the output of an instance was read. */
export interface LogPosition {
  /** Time of a line up to which nothing is told again, whatever its origin; null: only `origins` count. */
  readonly at: string | null;
  /** Of lines that have an origin the time of the last one, by origin. */
  readonly origins?: Readonly<Record<string, string>>;
}
