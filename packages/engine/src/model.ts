import type { ObjectMetadata, PortProtocol, Probe, ScalingByEvents, RouteOptions } from '@davit/drivers';

/** What a deployment does to its services. */
export type Action = 'DEPLOY' | 'RESTART' | 'STOP' | 'DELETE' | 'UNINSTALL';

/** A piece of a value: text as it is, or a version of a secret, looked up and decrypted only when an instance is made. */
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
  /** Port of the host for public TCP and UDP ports; null for HTTP and GRPC, which share the gateway's. */
  readonly externalPort: number | null;
  readonly public: boolean;
  readonly isDefault: boolean;
  readonly protocol: PortProtocol;
  /** Host names under which the gateway serves it; empty for ports that are not public. */
  readonly hosts: readonly string[];
  /** The same, of the users' own; `*.` in front stands for one label. Absent where there are none. */
  readonly customHosts?: readonly string[];
  readonly pathPrefix: string;
  readonly pathRewrite: string | null;
}

/** Built from a Dockerfile of a git repository. */
export interface GitReleaseSource {
  readonly type: 'GIT';
  readonly url: string;
  readonly branch: string | null;
  readonly rootPath: string;
  readonly dockerfilePath: string;
  readonly targetStage: string | null;
  readonly gitTokenId: string | null;
  /** The Dockerfile itself, in place of one of the repository. */
  readonly dockerfile?: string;
}

/** Taken from a registry. */
export interface ImageReleaseSource {
  readonly type: 'IMAGE';
  /** Without tag: `registry.example.org:5000/team/app`. */
  readonly image: string;
  readonly tag: string;
  /** Whose credentials are used; null: none are needed. */
  readonly registryId: string | null;
}

/** Where a release's files are, when no image is built from them. */
export interface RepositoryPlace {
  readonly url: string;
  readonly branch: string | null;
  readonly rootPath: string;
  readonly gitTokenId: string | null;
}

/** Installed by Helm. Members of members are as the API has them. */
export interface HelmReleaseSource {
  readonly type: 'HELM';
  /** Nothing is installed, only told. */
  readonly action?: 'DIFF';
  /** Where the chart is; of this and `chart` one is null. */
  readonly git: RepositoryPlace | null;
  /** One of a Helm repository, by the id of that. */
  readonly chart: { readonly repository: string; readonly chart_name: string; readonly chart_version: string } | null;
  readonly arguments: readonly string[];
  readonly allowClusterWideResources: boolean;
  readonly values: HelmReleaseValues;
  readonly ports: readonly HelmReleasePort[];
  readonly timeoutSeconds: number;
}

/** Which of the chart's Services a public port of the release is one of: by exactly one of the last two. */
export interface HelmReleasePort {
  readonly id: string;
  readonly service_name: string | null;
  readonly service_selectors: readonly { readonly key: string; readonly value: string }[] | null;
}

/** `[name, value]` in the lists. */
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

/** What a Terraform configuration is run for. DESTROY and FORGET: as it is taken away. */
export type TerraformAction = 'APPLY' | 'PLAN' | 'FORCE_UNLOCK' | 'MIGRATE_STATE' | 'DESTROY' | 'FORGET';

/** Planned and applied by Terraform or OpenTofu. */
export interface TerraformReleaseSource {
  readonly type: 'TERRAFORM';
  readonly action: TerraformAction;
  readonly git: RepositoryPlace;
  readonly engine: 'TERRAFORM' | 'OPEN_TOFU';
  /** That the program must have; null: what the configuration itself asks for. */
  readonly version: string | null;
  /** Exactly one member: `kubernetes` is the state that Davit keeps, `user_provided` what the files say. */
  readonly backend: {
    readonly kubernetes?: object;
    readonly user_provided?: object;
    readonly blueprint?: { readonly type: string; readonly config: Readonly<Record<string, string>> };
  };
  /** Below the root path, each going before the ones before it. */
  readonly variableFiles: readonly string[];
  /** Going before the files. */
  readonly variables: readonly ReleaseValue[];
  /** By command. */
  readonly extraArguments: Readonly<Record<string, readonly string[]>>;
  /** Of one command; 0: no limit. */
  readonly timeoutSeconds: number;
  readonly storageGiB: number;
  /** Something is to be put into the image that it runs in, which there is none of. */
  readonly hasFragment: boolean;
}

export type ReleaseSource = GitReleaseSource | ImageReleaseSource | HelmReleaseSource | TerraformReleaseSource;

/** What of a service is not as this installation has it for all. What is left out is as for all. */
export interface ReleaseOptions {
  readonly terminationGraceSeconds?: number;
  /** The old instances stop before the new ones start. */
  readonly recreate?: true;
  readonly readOnlyRootFilesystem?: true;
  /** DNS is not asked about its custom domains. */
  readonly unchecked?: true;
  readonly build?: BuildOptions;
  /** Requests over HTTP are answered, also for hosts that have a certificate. */
  readonly plainHttp?: true;
  /** Of its public HTTP and GRPC ports. */
  readonly gateway?: { readonly http?: RouteOptions; readonly grpc?: RouteOptions };
}

/** Never more than the installation allows a build. */
export interface BuildOptions {
  readonly timeoutSeconds?: number;
  readonly cpuMillicores?: number;
  readonly memoryMiB?: number;
  readonly withoutCache?: true;
}

/** What a run of a job is for. A lifecycle job has some of the first three, a cron job the last. */
export type JobEvent = 'START' | 'STOP' | 'DELETE' | 'CRON';

/** The program of a job's run; empty: the image's. */
export interface JobCommand {
  readonly entrypoint: readonly string[];
  readonly arguments: readonly string[];
}

/** Between `instances` and `most` as many instances run as their use asks for, in percent of what one may use; or as events do. */
export interface ReleaseScaling {
  /** null: as many as the cluster has room for. */
  readonly most: number | null;
  readonly cpuPercent: number;
  /** null: memory does not matter. */
  readonly memoryPercent: number | null;
  /** In place of use; only the cluster can do it. With a least of 0 none runs while nothing happens. */
  readonly events?: Omit<ScalingByEvents, 'type'>;
}

/** What makes a service a job: it has no instances that stay, and runs to its end at its events. */
export interface JobRelease {
  readonly events: Readonly<Partial<Record<JobEvent, JobCommand>>>;
  /** When CRON comes by itself. */
  readonly schedule: { readonly expression: string; readonly timezone: string } | null;
  /** How often a run begins again after its process failed. */
  readonly maximumRestarts: number;
  /** Of a run with all its restarts; null: no limit of its own. */
  readonly maximumSeconds: number | null;
}

/** What a service (a run of a job, a Terraform configuration) told about what it made; it becomes a variable of the environment. */
export interface ServiceOutput {
  readonly name: string;
  readonly value: string;
  readonly sensitive: boolean;
  readonly description: string | null;
}

/**
 * What runs, complete: nothing is looked up elsewhere when it is applied, now or as a rollback in a year. Its canonical JSON is
 * hashed; two equal hashes mean that a deployment would change nothing but the commit.
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
  /** With `scaling`: the least. */
  readonly instances: number;
  readonly readiness: Probe | null;
  readonly liveness: Probe | null;
  /** Absent where there are none, so that the hash of such a release stays what it was before there were any. */
  readonly options?: ReleaseOptions;
  /** Of groups of annotations and labels, where the cluster has objects to write them on. Absent: nothing. */
  readonly metadata?: ObjectMetadata;
  /** Only of jobs; they have no `instances`. */
  readonly job?: JobRelease;
  /** Absent: always `instances`, which is never 0 otherwise. */
  readonly scaling?: ReleaseScaling;
}

/** What of a release tells people which program it ran. */
export type ReleaseCommand = Pick<ReleaseConfig, 'source' | 'entrypoint' | 'arguments' | 'job'>;

/** A commit as the API shows it. Before the checkout only `id` is known. */
export interface ReleaseCommit {
  readonly id: string;
  readonly message?: string;
  readonly authorName?: string;
  readonly createdAt?: string;
  readonly tag?: string;
}

/** A commit with the names of the ARGs that its Dockerfile declares: only their values can change what is built. */
export interface BuildCommit extends ReleaseCommit {
  readonly declaredArguments?: readonly string[];
}

/** Why a service of a deployment failed; stored redacted. */
export interface FailureRecord {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly evidence: {
    readonly lines?: readonly string[];
    readonly exit?: { readonly code: number; readonly outOfMemory: boolean };
    readonly probe?: readonly string[];
    readonly listening?: readonly string[];
    readonly original?: string;
  };
}

/** Which database a backup is of, or is restored into, and with what that is reached. Copied, as it outlives the database. */
export interface BackupSubject {
  readonly name: string;
  readonly type: 'POSTGRESQL' | 'MYSQL' | 'MONGODB' | 'REDIS';
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly login: string;
  /** The one that is there from the start. */
  readonly database: string;
  /** Secret version of its password. */
  readonly passwordSecretId: string;
}
