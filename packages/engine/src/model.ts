import type { Evidence, ObjectMetadata, PortProtocol, Probe, ScalingByEvents, RouteOptions } from '@davit/drivers';

/** The action of a deployment on its services. */
export type Action = 'DEPLOY' | 'RESTART' | 'STOP' | 'DELETE' | 'UNINSTALL';

/**
 * A part of a value: literal text, or a version of a secret, which is read and decrypted only when an instance is made.
 */
export type ValuePart = string | { readonly secret: string };

export interface ReleaseValue {
  readonly name: string;
  readonly parts: readonly ValuePart[];
}

export interface ReleaseFile {
  readonly path: string;
  readonly parts: readonly ValuePart[];
}

export interface ReleasePort {
  readonly id: string;
  readonly name: string;
  readonly internalPort: number;
  /** Port of the host for public TCP and UDP ports; null for HTTP and GRPC, which share the gateway's port. */
  readonly externalPort: number | null;
  readonly public: boolean;
  readonly isDefault: boolean;
  readonly protocol: PortProtocol;
  /**
   * Host names under which the gateway serves the port; empty for ports that are not public. Of a TCP port: the names
   * for which it has a certificate of its own.
   */
  readonly hosts: readonly string[];
  /**
   * Host names of the users' own under which the gateway serves the port; a leading `*.` stands for one label. Absent
   * if there are none.
   */
  readonly customHosts?: readonly string[];
  readonly pathPrefix: string;
  readonly pathRewrite: string | null;
  /** The gateway terminates TLS for clients of a public TCP port that want it. Absent: it does not. */
  readonly acceptsTls?: true;
}

/** A source that is built from a Dockerfile of a git repository. */
export interface GitReleaseSource {
  readonly type: 'GIT';
  readonly url: string;
  readonly branch: string | null;
  readonly rootPath: string;
  readonly dockerfilePath: string;
  readonly targetStage: string | null;
  readonly gitTokenId: string | null;
  /** Content of the Dockerfile, used instead of a Dockerfile of the repository. */
  readonly dockerfile?: string;
}

/** A source that is pulled from a registry. */
export interface ImageReleaseSource {
  readonly type: 'IMAGE';
  /** Name of the image without its tag: `registry.example.org:5000/team/app`. */
  readonly image: string;
  readonly tag: string;
  /** Registry whose credentials are used; null: none are needed. */
  readonly registryId: string | null;
}

/** The location of a release's files, if no image is built from them. */
export interface RepositoryLocation {
  readonly url: string;
  readonly branch: string | null;
  readonly rootPath: string;
  readonly gitTokenId: string | null;
}

/** A source that is installed by Helm. Nested members are as the API has them. */
export interface HelmReleaseSource {
  readonly type: 'HELM';
  /** Nothing is installed; the differences are only reported. */
  readonly action?: 'DIFF';
  /** Location of the chart. Exactly one of `git` and `chart` is null. */
  readonly git: RepositoryLocation | null;
  /** A chart of a Helm repository; `repository` is the id of the Helm repository. */
  readonly chart: { readonly repository: string; readonly chart_name: string; readonly chart_version: string } | null;
  readonly arguments: readonly string[];
  readonly allowClusterWideResources: boolean;
  readonly values: HelmReleaseValues;
  readonly ports: readonly HelmReleasePort[];
  readonly timeoutSeconds: number;
}

/**
 * Assigns a public port of the release to one of the chart's Services. Exactly one of `service_name` and
 * `service_selectors` is set.
 */
export interface HelmReleasePort {
  readonly id: string;
  readonly service_name: string | null;
  readonly service_selectors: readonly { readonly key: string; readonly value: string }[] | null;
}

/** Values of a chart. The entries of the lists are `[name, value]`. */
export interface HelmReleaseValues {
  readonly set: readonly (readonly string[])[];
  readonly set_string: readonly (readonly string[])[];
  readonly set_json: readonly (readonly string[])[];
  readonly file: {
    readonly raw: { readonly values: readonly { readonly name: string; readonly content: string }[] } | null;
    readonly git: {
      readonly git_repository: {
        readonly url: string;
        readonly branch: string | null;
        readonly root_path: string;
        readonly git_token_id: string | null;
      };
      readonly paths: readonly string[];
    } | null;
  } | null;
}

/** The action of a Terraform configuration. DESTROY and FORGET happen when it is removed. */
export type TerraformAction = 'APPLY' | 'PLAN' | 'FORCE_UNLOCK' | 'MIGRATE_STATE' | 'DESTROY' | 'FORGET';

/** A source that is planned and applied by Terraform or OpenTofu. */
export interface TerraformReleaseSource {
  readonly type: 'TERRAFORM';
  readonly action: TerraformAction;
  readonly git: RepositoryLocation;
  readonly engine: 'TERRAFORM' | 'OPEN_TOFU';
  /** Required version of the program; null: the version that the configuration itself requires. */
  readonly version: string | null;
  /**
   * Exactly one member is set. `kubernetes`: Davit keeps the state. `user_provided`: the files configure the backend.
   */
  readonly backend: {
    readonly kubernetes?: object;
    readonly user_provided?: object;
    readonly blueprint?: { readonly type: string; readonly config: Readonly<Record<string, string>> };
  };
  /** Paths relative to the root path. Each file takes precedence over the ones before it. */
  readonly variableFiles: readonly string[];
  /** Variables that take precedence over the files. */
  readonly variables: readonly ReleaseValue[];
  /** Extra arguments, by command. */
  readonly extraArguments: Readonly<Record<string, readonly string[]>>;
  /** Seconds that one command may take; 0: no limit. */
  readonly timeoutSeconds: number;
  readonly storageGiB: number;
  /** Whether a fragment is to be added to the image that the configuration runs in. There is no such image. */
  readonly hasFragment: boolean;
}

/** The sources of releases, by their type. */
export interface ReleaseSources {
  readonly GIT: GitReleaseSource;
  readonly IMAGE: ImageReleaseSource;
  readonly HELM: HelmReleaseSource;
  readonly TERRAFORM: TerraformReleaseSource;
}
export type ReleaseSource = ReleaseSources[keyof ReleaseSources];

/** Options of a service that differ from the installation's defaults. Omitted options have the default. */
export interface ReleaseOptions {
  readonly terminationGraceSeconds?: number;
  /** The old instances stop before the new ones start. */
  readonly recreate?: true;
  readonly readOnlyRootFilesystem?: true;
  /** The custom domains of the service are not checked against DNS. */
  readonly unchecked?: true;
  readonly build?: BuildOptions;
  /** HTTP requests are served, also for hosts that have a certificate. */
  readonly plainHttp?: true;
  /** Options of the public HTTP and GRPC ports. */
  readonly gateway?: { readonly http?: RouteOptions; readonly grpc?: RouteOptions };
}

/** Options of a build. They never exceed what the installation allows a build. */
export interface BuildOptions {
  readonly timeoutSeconds?: number;
  readonly cpuMillicores?: number;
  readonly memoryMiB?: number;
  readonly withoutCache?: true;
}

/** The event of a job's run. A lifecycle job has some of the first three, a cron job has the last. */
export type JobEvent = 'START' | 'STOP' | 'DELETE' | 'CRON';

/** The program of a job's run; empty: the program of the image. */
export interface JobCommand {
  readonly entrypoint: readonly string[];
  readonly arguments: readonly string[];
}

/**
 * Scales a service between `instances` and `most` instances, by resource use in percent of what one instance may use,
 * or by events.
 */
export interface ReleaseScaling {
  /** Maximum number of instances; null: as many as fit on the cluster. */
  readonly most: number | null;
  readonly cpuPercent: number;
  /** null: memory is ignored. */
  readonly memoryPercent: number | null;
  /**
   * Scaling by events instead of by resource use; only the cluster can do it. With a minimum of 0, no instance runs
   * while no event occurs.
   */
  readonly events?: Omit<ScalingByEvents, 'type'>;
}

/**
 * The part of a release that makes the service a job: it has no lasting instances, and runs to its end at its events.
 */
export interface JobRelease {
  readonly events: Readonly<Partial<Record<JobEvent, JobCommand>>>;
  /** Schedule of the event CRON. */
  readonly schedule: { readonly expression: string; readonly timezone: string } | null;
  /** Maximum number of restarts of a run after its process failed. */
  readonly maximumRestarts: number;
  /** Maximum duration of a run including its restarts, in seconds; null: no limit of its own. */
  readonly maximumSeconds: number | null;
}

/**
 * An output that a service (a run of a job, a Terraform configuration) reported. It becomes a variable of the
 * environment.
 */
export interface ServiceOutput {
  readonly name: string;
  readonly value: string;
  readonly sensitive: boolean;
  readonly description: string | null;
}

/**
 * The complete configuration of a release. Nothing is looked up elsewhere when it is applied, now or as a rollback in a
 * year. Its canonical JSON is hashed: if two hashes are equal, a deployment would change nothing but the commit.
 */
export interface ReleaseConfig {
  readonly version: 1;
  readonly name: string;
  readonly source: ReleaseSource;
  readonly entrypoint: readonly string[];
  readonly arguments: readonly string[];
  readonly environment: readonly ReleaseValue[];
  readonly files: readonly ReleaseFile[];
  readonly ports: readonly ReleasePort[];
  readonly volumes: readonly { readonly id: string; readonly mountPath: string; readonly sizeGiB: number }[];
  readonly hostnames: readonly string[];
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
  /** Number of instances; with `scaling`, the minimum. */
  readonly instances: number;
  readonly readiness: Probe | null;
  readonly liveness: Probe | null;
  /** Absent if there are no options, so that the hash of such a release stays what it was before options existed. */
  readonly options?: ReleaseOptions;
  /** Labels and annotations of groups, if the cluster has objects to write them on. Absent: there are none. */
  readonly metadata?: ObjectMetadata;
  /** Present only for jobs; jobs have no `instances`. */
  readonly job?: JobRelease;
  /** Absent: always `instances`, which is then never 0. */
  readonly scaling?: ReleaseScaling;
}

/** The part of a release from which readers see which program it ran. */
export type ReleaseCommand = Pick<ReleaseConfig, 'source' | 'entrypoint' | 'arguments' | 'job'>;

/** A commit as the API shows it. Before the checkout only `id` is known. */
export interface ReleaseCommit {
  readonly id: string;
  readonly message?: string;
  readonly authorName?: string;
  readonly createdAt?: string;
  readonly tag?: string;
}

/**
 * A commit with the names of the ARGs that its Dockerfile declares: only the values of these ARGs can change the built
 * image.
 */
export interface BuildCommit extends ReleaseCommit {
  readonly declaredArguments?: readonly string[];
}

/** The reason why a service of a deployment failed; stored redacted. */
export interface FailureRecord {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly evidence: Evidence;
  /**
   * The differences from the release with which the service worked last. They have no values: a value may become a
   * secret later. null: it never worked. Absent: the failure is none of a deployment of a release.
   */
  readonly changedSinceSuccess?: ChangedSinceSuccess | null;
}

/** The differences from the release with which a service worked last. */
export interface ChangedSinceSuccess {
  readonly releaseId: string;
  /** The end of the last deployment that succeeded. */
  readonly at: string;
  /** The first changes, sorted by path. */
  readonly changes: readonly { readonly path: string; readonly kind: 'ADDED' | 'CHANGED' | 'REMOVED' }[];
  /** Number of all changes. */
  readonly total: number;
}

/**
 * The database that a backup is taken of or restored into, with its credentials. It is a copy, because the backup
 * outlives the database.
 */
export interface BackupSubject {
  readonly name: string;
  readonly type: 'POSTGRESQL' | 'MYSQL' | 'MONGODB' | 'REDIS';
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly login: string;
  /** Name of the database that exists from the start. */
  readonly database: string;
  /** Secret version of the password. */
  readonly passwordSecretId: string;
}
