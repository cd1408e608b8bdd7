import type { Readable } from 'node:stream';
import type { Instance, LogLine, Ownership, Selector, Workload } from './workload.ts';
import type { Sensitive } from '@davit/base';

/** What every call that takes long gets. */
export interface CallContext {
  /** Aborted on cancel, loss of the lease, or deadline: stop soon, leave what is there to `retire` and `remove`. */
  readonly signal: AbortSignal;
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

/** Optional power of a cluster: what instances and volumes use. Both fail with ENGINE_UNREACHABLE. */
export interface ClusterMetrics {
  /** Of every instance that runs, in one pass; what ends meanwhile is left out. */
  usage(signal: AbortSignal): Promise<readonly InstanceUsage[]>;
  /** Counts files, so it costs more; volumes that cannot be looked into are left out. */
  volumes(signal: AbortSignal): Promise<readonly VolumeUsage[]>;
}

/**
 * A cluster that runs workloads. Every method is idempotent, finds its objects by label, and fails with a `DriverError` that
 * says its cause and whether trying again may help; drivers do not retry. No method touches what Davit did not label.
 */
export interface ClusterDriver {
  readonly kind: string;

  /** Asks the cluster who it is. Fails with ENGINE_UNREACHABLE within 5 s when nobody answers. */
  describe(signal: AbortSignal): Promise<ClusterDescription>;

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

  /** Stops (SIGTERM, grace, SIGKILL) and removes the instances selected, in parallel. Volumes, images and networks stay. */
  retire(selector: Selector, graceSeconds: number, context: CallContext): Promise<void>;

  /** Starts an instance that exited, or restarts one that is stuck. */
  revive(instanceId: string, context: CallContext): Promise<void>;

  /** Removes instances and volumes of a service, and its images. */
  removeService(environment: string, service: string, context: CallContext): Promise<void>;

  /** Removes all that is left of an environment, its network included. */
  removeEnvironment(environment: string, context: CallContext): Promise<void>;

  /** One probe, once: null when it succeeded, otherwise what was seen, in words. Never throws for a failing probe. */
  probe(workload: Workload, instance: Instance, which: 'readiness' | 'liveness', signal: AbortSignal): Promise<string | null>;

  /** Lines of an instance after `since` (exclusive; null: from its start). Follows until the instance ends or the signal aborts. */
  followLogs(instanceId: string, since: string | null, onLine: (line: LogLine) => void, signal: AbortSignal): Promise<void>;

  /**
   * The text of a file inside an instance, which may have ended; null: there is none, it is no file, or larger than that. Fails with
   * ENGINE_UNREACHABLE.
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
}

export interface GitSource {
  /** https or http URL, or where the configuration allows it a path or file URL of this machine. */
  readonly url: string;
  /** Absent: the repository's default branch. */
  readonly branch?: string;
  /** 40 hexadecimal digits (or a unique abbreviation of at least 7 that is found on the branch). Absent: the newest of the branch. */
  readonly commit?: string;
  readonly credentials?: { readonly username: string; readonly password: Sensitive };
}

export interface Commit {
  readonly id: string;
  readonly message: string;
  readonly authorName: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** A tag that points at it, or ''. */
  readonly tag: string;
}

export interface SourceDriver {
  /** The commit that the source means now, without fetching content. Fails with GIT_UNREACHABLE, GIT_ACCESS_DENIED, GIT_REFERENCE_NOT_FOUND, GIT_LOCAL_FORBIDDEN. */
  resolve(source: GitSource, context: CallContext): Promise<string>;

  /** Puts the tree of `commit` into `directory` (made anew), shallow. Same failures as `resolve`. */
  checkout(source: GitSource & { readonly commit: string }, directory: string, context: CallContext): Promise<Commit>;

  /**
   * The texts of single files of a commit, in their order, without fetching the others where the host can do so. Null for what is
   * not there or is no file; symbolic links are followed inside of the repository. Fails with BUILD_ROOT_MISSING, and as `resolve`.
   */
  files(
    source: GitSource & { readonly commit: string },
    wanted: WantedFiles,
    context: CallContext,
  ): Promise<readonly (string | null)[]>;

  /** Branches with their newest commits. Fetches nothing. Same failures as `resolve`. */
  heads(source: GitSource, context: CallContext): Promise<Heads>;

  /** How a commit differs from an earlier one, without files. Fails with GIT_REFERENCE_NOT_FOUND for `head`, and as `resolve`. */
  changes(source: GitSource, wanted: WantedChanges, context: CallContext): Promise<Changes>;

  /** The newest commits of the branch, newest first, at most `limit`. Fetches no files. Same failures as `resolve`. */
  history(source: GitSource, limit: number, context: CallContext): Promise<readonly HistoryCommit[]>;
}

/** Of a repository. */
export interface Heads {
  /** null: the repository names none, as an empty one. */
  readonly defaultBranch: string | null;
  /** Ids of commits by branch. */
  readonly branches: ReadonlyMap<string, string>;
}

/** Two commits, by 40 hexadecimal digits each. */
export interface WantedChanges {
  readonly base: string;
  readonly head: string;
  /** Compare with where the two parted instead of with `base`: what a branch brings. */
  readonly sinceParting: boolean;
}

export interface Changes {
  /** Whether `base` is in the history of `head`: false after a push that rewrote it. */
  readonly isForward: boolean;
  /** Changed, added and removed files; both names of one that was renamed. null: `base` is not in the repository any more. */
  readonly files: readonly string[] | null;
}

/** A commit with who wrote it. */
export interface HistoryCommit extends Commit {
  readonly authorEmail: string;
}

/** Which files of a repository are asked for. */
export interface WantedFiles {
  /** Folder of the repository that the paths start from; `/` is all. */
  readonly rootPath: string;
  readonly paths: readonly string[];
}

/** Where in a checked-out repository a Dockerfile and its build context are. */
export interface BuildSource {
  /** Checked-out repository. */
  readonly directory: string;
  /** Folder of the repository that is the build context; `/` is all. Never leaves the repository, symbolic links included. */
  readonly rootPath: string;
  /** Relative to `rootPath`. */
  readonly dockerfilePath: string;
}

export interface BuildRequest extends BuildSource {
  readonly owner: Ownership;
  /** Name and tag the image gets, for example `davit/<service>:<key>`. */
  readonly image: string;
  readonly targetStage: string | null;
  /** Offered to the ARGs that the Dockerfile declares; others are left out. Never secrets. */
  readonly arguments: Readonly<Record<string, string>>;
  /** Names of secrets: an ARG of such a name gets nothing, and a log line says why. */
  readonly secretNames: readonly string[];
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
  /** Every step runs anew, whatever earlier builds left. */
  readonly withoutCache?: boolean;
}

export interface BuiltImage {
  /** The engine's id, `sha256:…`: what releases run, whatever happens to the tag. */
  readonly id: string;
  readonly sizeBytes: number;
}

/** Builds images where the cluster can run them. */
/** Identification at a registry. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: Sensitive;
}

export interface PullRequest {
  /** Complete: `registry.example.org:5000/team/app:1.2` or `…/app@sha256:…`. */
  readonly reference: string;
  readonly credentials: RegistryCredentials | null;
}

export interface PulledImage extends BuiltImage {
  /** `sha256:…` of what the registry gave under this reference; null where the engine does not say. */
  readonly digest: string | null;
}

export interface ImageBuilder {
  /**
   * Names of the build arguments that the Dockerfile declares; none when it is not there or not readable, which `build` reports
   * better. Asks no engine.
   */
  declaredArguments(source: BuildSource): Promise<readonly string[]>;

  /** The image of that name, or null. */
  find(image: string, signal: AbortSignal): Promise<BuiltImage | null>;

  /**
   * Builds and names the image; output lines go to the log. Fails with DOCKERFILE_MISSING, DOCKERFILE_INVALID,
   * BUILD_ROOT_MISSING, BUILD_TARGET_MISSING, BASE_IMAGE_UNAVAILABLE, BUILD_COMMAND_FAILED, BUILD_OUT_OF_MEMORY, DISK_FULL,
   * ENGINE_UNREACHABLE. On abort the engine's build is stopped too.
   */
  build(request: BuildRequest, context: CallContext): Promise<BuiltImage>;

  /**
   * Brings an image from its registry, also when the engine has one of that name already: a tag may have moved. Progress goes to
   * the log. Fails with IMAGE_NOT_FOUND, REGISTRY_ACCESS_DENIED, REGISTRY_UNREACHABLE, DISK_FULL, ENGINE_UNREACHABLE.
   */
  pull(request: PullRequest, context: CallContext): Promise<PulledImage>;

  /** Removes images of a service by their engine id. One that is in use or gone is no failure. */
  removeImages(ids: readonly string[], context: CallContext): Promise<void>;
}

export interface Backend {
  /** Unique in the table and stable: the instance's id. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

/** What of a route is not as for all routes. What is left out is as for all of them. */
export interface RouteOptions {
  /** Requests that announce a longer body are answered 413. */
  readonly bodyLimitMebibytes?: number;
  readonly connectTimeoutSeconds?: number;
  /** Between two parts of an answer, its first one included. */
  readonly readTimeoutSeconds?: number;
  /** Addresses and networks; all others are answered 403. */
  readonly allowedSources?: readonly string[];
  /** Addresses and networks that are answered 403. */
  readonly deniedSources?: readonly string[];
  /** A client stays at one backend, by a cookie. */
  readonly sticky?: true;
  /** Answers preflight requests, and lets pages of other origins read answers. */
  readonly crossOrigin?: CrossOrigin;
  /** Set on every answer. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CrossOrigin {
  /** `https://app.example.org`; `*` among them is every origin. */
  readonly origins: readonly string[];
  readonly methods: readonly string[];
  readonly headers: readonly string[];
}

export interface HttpRoute {
  /** Stable: the service port's id. */
  readonly id: string;
  /** Lower-case host names, without port. `*.` in front stands for exactly one label; a host that is there by itself comes first. */
  readonly hosts: readonly string[];
  /** `/` is everything; the longest prefix that matches wins. */
  readonly pathPrefix: string;
  /** Replaces the prefix on the way to the backend; null leaves the path as it is. */
  readonly pathRewrite: string | null;
  readonly protocol: 'HTTP' | 'GRPC';
  readonly backends: readonly Backend[];
  readonly options?: RouteOptions;
}

export interface TcpRoute {
  readonly id: string;
  /** Port of the host on which the gateway listens. */
  readonly listenPort: number;
  readonly backends: readonly Backend[];
}

/** What the gateway shows to whoever asks for a host over HTTPS. */
export interface HostCertificate {
  /** As in `HttpRoute.hosts`, each once. */
  readonly host: string;
  /** PEM: the private key, the certificate, and those above it. */
  readonly pem: string;
  /** Requests for this host that come over HTTP are sent to HTTPS (308). */
  readonly redirect: boolean;
}

/** What a certificate authority must find at `http://<host>/.well-known/acme-challenge/<token>` (RFC 8555, 8.3). */
export interface HttpChallenge {
  readonly host: string;
  readonly token: string;
  readonly answer: string;
}

/** Everything that the gateway serves. */
export interface RouteTable {
  readonly http: readonly HttpRoute[];
  readonly tcp: readonly TcpRoute[];
  /** Without a port for HTTPS they are kept and not used. Default: none. */
  readonly certificates?: readonly HostCertificate[];
  /** They go before all routes. Default: none. */
  readonly challenges?: readonly HttpChallenge[];
}

/** Upper ends of the buckets in which the gateway counts how long services took to begin an answer; the last bucket has none. */
export const latencyBucketsMilliseconds = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000] as const;

/** What went through a route since the gateway is watched. Numbers only rise. */
export interface RouteTraffic {
  /** The route's. */
  readonly id: string;
  /** Of HTTP and gRPC; connections of TCP. */
  readonly requests: number;
  /** By class, `1xx` first, also those that the gateway gave itself. Of a TCP route all are 0. */
  readonly responses: readonly number[];
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Answers of instances by `latencyBucketsMilliseconds`, each in one bucket; one more bucket than there are ends. */
  readonly latency: readonly number[];
}

/** The front door of the local engine. A process of its own that goes on while Davit is down. */
export interface Gateway {
  /**
   * Fails with GATEWAY_FAILED or PORT_TAKEN, naming the route and the value, when the gateway could never serve this table: a
   * value has a form that it could misread, or two routes claim the same place. Changes nothing.
   */
  check(table: RouteTable): void;

  /** Starts it, or adopts the one that runs from an earlier start. Fails with GATEWAY_FAILED or PORT_TAKEN. */
  start(): Promise<void>;

  /**
   * Makes the gateway serve exactly this. When it resolves, new requests go to the new backends, none is lost, and requests
   * under way at removed backends go on to their end. Calls are serialised; the last one wins.
   */
  apply(table: RouteTable): Promise<void>;

  /** Resolves when no request is under way at these backends any more, or after the time given. */
  awaitDrained(backendIds: readonly string[], timeoutMilliseconds: number): Promise<void>;

  /**
   * What went through each route since the first call, which begins to count; empty while the gateway does not answer. Requests
   * that a worker ended between two calls and a reload are counted, those of a worker that was killed are not.
   */
  traffic(): Promise<readonly RouteTraffic[]>;

  /** Ends the gateway process. Only on uninstall and in tests: a stop of Davit leaves it running. */
  stop(): Promise<void>;
}
