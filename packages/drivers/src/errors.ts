import { AppError } from '@davit/base';

/**
 * Causes of failed deployments: what happened, and what to do about it. `docs/errors.md` lists exactly these; a test
 * enforces that. Code that throws the error fills in each `{…}` of a hint.
 */
export const causes = {
  GIT_UNREACHABLE: 'The git repository could not be reached. Check the URL, and that this machine can reach its host.',
  GIT_ACCESS_DENIED:
    'The git host refused access. If the repository is private, create a git token and set git_repository.git_token_id; if it is public, check the spelling of the URL.',
  GIT_REFERENCE_NOT_FOUND:
    'The branch or commit is not in the repository. Push it, or correct git_repository.branch or git_commit_id.',
  GIT_LOCAL_FORBIDDEN:
    'Paths and file URLs of this machine are not allowed as repositories. Use an http or https URL, or have the operator set DAVIT_ALLOW_LOCAL_REPOSITORIES=true.',
  GIT_TOO_LARGE: 'The checked-out repository is larger than 5 GB. Remove large files from the branch.',
  BUILD_ROOT_MISSING: 'git_repository.root_path does not exist in the repository at this commit. Correct it, or push the folder.',
  DOCKERFILE_MISSING:
    'There is no Dockerfile at dockerfile_path. The path is relative to git_repository.root_path; correct it, or commit the file.',
  DOCKERFILE_INVALID: 'The Dockerfile cannot be parsed. Correct the line that the message names.',
  BUILD_TARGET_MISSING:
    'docker_target_build_stage names a stage that the Dockerfile does not have. Correct the name, or leave it out.',
  BASE_IMAGE_UNAVAILABLE:
    'An image of a FROM line could not be had. Check its name and tag, whether it is private, and that this machine can reach the registry.',
  BUILD_COMMAND_FAILED: 'A command of the Dockerfile failed. The lines before the end of the build log say why.',
  BUILD_OUT_OF_MEMORY:
    'The build needed more memory than it may use. Make the build need less, or have the operator raise DAVIT_BUILD_MEMORY_MIB, or build_memory_mib in the settings of a cluster that builds itself.',
  IMAGE_MISSING: 'The image of this release is no longer on the engine. Deploy again to build it anew.',
  IMAGE_NOT_FOUND:
    'The registry has no such image, or does not show it without credentials. Check image_name and tag, and the registry’s username and password where it is private.',
  REGISTRY_ACCESS_DENIED:
    'The registry refused access. Check username and password of the container registry, and that they may read this image.',
  REGISTRY_UNREACHABLE:
    'The registry could not be reached from the container engine. Check its address and the network of this machine; deploying again is safe.',
  START_FAILED:
    'The engine could not start the process. Check entrypoint and arguments: the program must exist in the image, be executable, and fit this machine’s processor.',
  PROCESS_EXITED: 'The process ended instead of running on. Its last lines are below; a service must stay in the foreground.',
  JOB_FAILED:
    'The job ended with another exit code than 0, after all restarts that max_nb_restart allows. Its last lines are below; correct the job, then deploy again.',
  JOB_TIMEOUT:
    'The job did not end within max_duration_seconds and was killed. Raise it, or make the job end sooner; its last lines are below.',
  OUT_OF_MEMORY:
    'The process used more memory than the service may have and was killed. Raise memory, or make the process need less.',
  PROCESS_LIMIT:
    'The instance has as many processes and threads as it may have (4,096 on Docker and Podman). Make the process start fewer, end those that it does not need any more, or run more instances.',
  INSTANCE_EVICTED:
    'The cluster ended the instance to protect a node: its memory, its disk, or its number of processes was short. The words of the cluster are in the evidence; lower what the service uses, or have the operator add room.',
  PORT_NOT_LISTENING:
    'Nothing listens on a port of the service. Make the process listen on it on 0.0.0.0, or correct internal_port.',
  PROBE_FAILED: 'The readiness probe did not succeed in time. Check its path, port and timing against what the process answers.',
  PORT_TAKEN:
    'A port of this machine that the service wants is already in use. Choose another external_port, or end the other program.',
  CLUSTER_ACCESS_INVALID:
    'The kubeconfig of the cluster cannot be used. Store one that names an https server and has a token or a client certificate in its text; docs/kubernetes.md tells how to make it.',
  CLUSTER_ACCESS_DENIED:
    'The cluster does not know the credentials that Davit has for it, or does not let it do this. Give the account of the kubeconfig the roles of docs/kubernetes.md, or store another kubeconfig by a PUT of …/cluster/{clusterId}/kubeconfig, then deploy again.',
  UNSCHEDULABLE:
    'No node of the cluster can take the instance. Add nodes or make room, or lower cpu and memory of the service; the message says what is short.',
  QUOTA_EXCEEDED:
    'A quota of the cluster does not allow the instance. Raise the ResourceQuota or LimitRange of the namespace, or lower cpu, memory or the number of instances.',
  ADMISSION_REFUSED:
    'A policy of the cluster refused the instance. The message is the policy’s own: change the service to fit it, or have it changed.',
  SCHEDULE_REFUSED:
    'The cluster does not take the schedule of the job. Correct schedule.cronjob (scheduled_at, timezone); the message is the cluster’s own.',
  RUN_AS_ROOT:
    'The image runs as root, which this cluster does not allow. Give the image a user by its number (`USER 1000` in the Dockerfile), or have the operator set the cluster’s level to baseline.',
  AUTOSCALING_UNAVAILABLE:
    'The cluster cannot scale by events. Have its operator install what the message names (docs/scaling.md tells how), or leave autoscaling out of the service (null).',
  SOURCES_UNRESTRICTED:
    'On this cluster Davit restricts nobody. Restrict who is served at its ingress controller, as by a group of annotations with the scope INGRESS, and set network.ingress.whitelist_source_range and network.ingress.denylist_source_range back to their defaults (null).',
  VOLUME_UNAVAILABLE:
    'The volume could not be had from the cluster. Check its storage classes, that one is the default or named for the cluster, and that it has space.',
  ENGINE_UNREACHABLE: 'The container engine does not answer. Start it (for example `systemctl start docker`), then deploy again.',
  ENGINE_FAILED: 'The container engine refused a request in a way that Davit does not know. The message is the engine’s own.',
  CLUSTER_UNREACHABLE:
    'The cluster did not answer for longer than deployments wait for one (DAVIT_CLUSTER_WAIT_SECONDS). What ran there runs on; check its API server and the network between, then deploy again.',
  CLUSTER_NOT_CONNECTED:
    'Davit has no credentials of the cluster, or this version cannot work with clusters of its kind. Store its kubeconfig by a PUT of …/cluster/{clusterId}/kubeconfig.',
  BUILD_UNAVAILABLE:
    'Have the operator name a container registry as image_registry in the settings of the cluster (docs/kubernetes.md); or build the image elsewhere, push it to a container registry, and deploy it as a container.',
  TERRAFORM_UNAVAILABLE:
    'This machine does not run such configurations. Have the operator install the program and set DAVIT_TERRAFORM_PROGRAM or DAVIT_TOFU_PROGRAM.',
  TERRAFORM_VERSION_UNAVAILABLE:
    'This machine has another version. Change provider_version.explicit_version to one that /terraform/availableVersion lists, or leave it to the configuration with read_from_terraform_block.',
  TERRAFORM_FILES_MISSING:
    'terraform_files_source.git_repository.root_path does not exist in the repository at this commit. Correct it, or push the folder.',
  TERRAFORM_FRAGMENT_UNSUPPORTED:
    'There is no image that a dockerfile_fragment could be put into: Terraform runs as a program of this machine, or in an image that the operator names. Set it to null.',
  TERRAFORM_STATE_LOCKED:
    'Another run has the state, or one ended without letting go of it. When none is under way, deploy with the action FORCE_UNLOCK, then again.',
  TERRAFORM_FAILED: 'A command of Terraform failed. Its last lines say why; what had been made by then is in the state.',
  TERRAFORM_INTERRUPTED:
    'The pod of the run ended in the middle: its node was lost or had no room left, or somebody deleted it. What had been made by then is in the state as far as it was stored; deploy with the action FORCE_UNLOCK if the state is locked, then again.',
  HELM_UNAVAILABLE:
    'No worker of Davit can run charts. Have the operator install Helm 4 on the machine of the workers, or name it in DAVIT_HELM; ./davit doctor looks for it.',
  HELM_NEEDS_KUBERNETES:
    'Charts are installed on Kubernetes alone. Put the environment on a Kubernetes cluster (cluster_id), or attach the service to its stage with is_skipped.',
  HELM_CHART_UNAVAILABLE:
    'The chart could not be had. Check chart_name, chart_version, and the url and config of the Helm repository; GET …/helmRepository/{helmRepositoryId}/charts lists what there is.',
  HELM_CHART_INVALID:
    'This is no chart that can be installed. Check that git_repository.root_path is the folder of its Chart.yaml, and try `helm template` there.',
  HELM_VALUES_INVALID: 'The values cannot be given to the chart. Correct what the message names in values_override.',
  HELM_ARGUMENT_REFUSED:
    'Take the argument out of arguments. docs/helm.md lists those that are taken, and what stands for the others.',
  HELM_OUTSIDE_ENVIRONMENT:
    'The chart makes something that is not in the namespace of its environment. Switch that off in its values; or set allow_cluster_wide_resources, where the operator lets charts do that.',
  HELM_RELEASE_TAKEN:
    'The namespace has a Helm release of this name that Davit did not install. Remove it with `helm uninstall`, then deploy again.',
  HELM_FAILED: 'Helm could not do it. Its last lines say why; what was deployed before is there as it was.',
  BACKUP_FAILED:
    'The tool of the database that makes a backup failed. Its last lines say why; the next backup is tried at its time, or ask for one.',
  BACKUP_NOT_PROVEN:
    'A restore of the backup for a test failed, or did not have what the database had. Do not rely on this backup: make another one.',
  BACKUP_DAMAGED: 'The stored backup is not what was written. Use another backup, and check the disk it is on.',
  BACKUP_MISSING:
    'The file of the backup is not in the folder of backups. Bring it back to DAVIT_BACKUP_FOLDER, or use another backup; several servers on one database need one folder for all.',
  BACKUP_STORE_FAILED:
    'The folder of backups could not be read or written. Check DAVIT_BACKUP_FOLDER: its owner, its mode, its disk.',
  BACKUP_TIMEOUT:
    'It took longer than DAVIT_BACKUP_TIMEOUT_SECONDS allows and was ended. Raise that, or make the database smaller.',
  RESTORE_FAILED:
    'The backup could not be restored. The last lines say why; what the database had before is in its safety backup.',
  DISK_FULL: 'The disk of the engine or of Davit is full. Free space, then deploy again.',
  INSTANCE_DISK_EXCEEDED:
    'Write less into the file system of the instance, remove temporary files, or put what is to stay into a volume (storage).',
  VOLUME_EXCEEDED: 'Raise storage.size and deploy; or restart the service, and remove files from its volumes within ten minutes.',
  GATEWAY_FAILED:
    'The gateway could not be changed. Check that HAProxy 2.6 or later is installed; `docs/operate.md` tells how to look at it.',
  SECRETS_TOO_LARGE:
    'The secrets of the services of one deployment have 16,777,216 characters at most. Keep large files in a volume, an image or an object store, and only the key to them in a secret; delete secrets that no service needs.',
  STEP_TIMEOUT: 'A step took longer than it may. The deployment log shows how far it came.',
  INTERNAL: 'Davit itself failed. The log of the server has the details under the id in the message; please report it.',
} as const;

export type Cause = keyof typeof causes;

/** Observations for people and for programs. All texts are redacted before they are stored. */
export interface Evidence {
  /** Last lines of the instance or build that failed. */
  readonly lines?: readonly string[];
  readonly exit?: { readonly code: number; readonly outOfMemory: boolean };
  /** Results of the probe as text, newest last. */
  readonly probe?: readonly string[];
  /** Each `address:port` on which the instance listens. */
  readonly listening?: readonly string[];
  /** The original message of the engine or program. */
  readonly original?: string;
}

export interface DriverErrorInput {
  readonly cause: Cause;
  /** Concrete description of the failure: names, numbers, the original message of the other side. */
  readonly message: string;
  /** Replaces the cause's general advice if the driver knows more. */
  readonly hint?: string;
  readonly evidence?: Evidence;
  /** True if the same call may succeed later without anybody changing anything. */
  readonly retryable?: boolean;
  readonly error?: unknown;
}

/** A failure of a driver: its cause code, what to do, and what was observed. */
export class DriverError extends AppError {
  declare readonly code: Cause;
  readonly hint: string;
  readonly evidence: Evidence;
  readonly retryable: boolean;

  constructor(input: DriverErrorInput) {
    super({ code: input.cause, message: input.message, cause: input.error });
    this.name = 'DriverError';
    this.hint = input.hint ?? causes[input.cause];
    this.evidence = input.evidence ?? {};
    this.retryable = input.retryable ?? false;
  }
}

/**
 * Retryable: the container that holds the folders of an instance has not run yet. Nothing has been written to them, and
 * nothing can be read from them.
 */
export class FolderNotHeldError extends DriverError {
  constructor(message: string) {
    super({ cause: 'ENGINE_FAILED', message, retryable: true });
    this.name = 'FolderNotHeldError';
  }
}

/** The gateway serves all routes of the table except these. The error has the code of the first failure. */
export class RoutesLeftOutError extends DriverError {
  /** Why each of these routes is not served, by route id; never empty. */
  readonly failures: ReadonlyMap<string, DriverError>;

  constructor(failures: ReadonlyMap<string, DriverError>) {
    const [first] = failures.values();
    const list = [...failures].map(([route, failure]) => `${route} (${failure.message.replace(/\.$/, '')})`).join(', ');
    super({
      cause: first?.code ?? 'GATEWAY_FAILED',
      message: `The gateway serves all routes but ${list}.`,
      ...(first !== undefined && { hint: first.hint, evidence: first.evidence }),
    });
    this.name = 'RoutesLeftOutError';
    this.failures = failures;
  }
}
