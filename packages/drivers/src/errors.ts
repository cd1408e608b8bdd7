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
    'An image of a FROM line could not be pulled. Check its name and tag, whether it is private, and that this machine can reach the registry.',
  BUILD_COMMAND_FAILED: 'A command of the Dockerfile failed. The last lines of the build log say why.',
  BUILD_OUT_OF_MEMORY:
    'The build exceeded its memory limit. Reduce what the build needs, or have the operator raise DAVIT_BUILD_MEMORY_MIB, or build_memory_mib in the settings of a cluster that builds its own images.',
  IMAGE_MISSING: 'The image of this release is no longer on the engine. Deploy again to rebuild it.',
  IMAGE_NOT_FOUND:
    'The registry has no such image, or hides it without credentials. Check image_name and tag and, for a private registry, its username and password.',
  REGISTRY_ACCESS_DENIED:
    'The registry refused access. Check username and password of the container registry, and that they may read this image.',
  REGISTRY_UNREACHABLE:
    'The registry could not be reached from the container engine. Check its address and the network of this machine; deploying again is safe.',
  START_FAILED:
    'The engine could not start the process. Check entrypoint and arguments: the program must exist in the image, be executable, and be built for this machine’s processor.',
  PROCESS_EXITED:
    'The process exited instead of staying up. Its last lines mostly say why; a service must stay in the foreground.',
  JOB_FAILED:
    'The job exited with a code other than 0, after all restarts that max_nb_restart allows. Its last lines mostly say why: correct the job, then deploy again.',
  JOB_TIMEOUT:
    'The job did not finish within max_duration_seconds and was killed. Raise that limit, or make the job finish sooner; its last lines show how far it came.',
  OUT_OF_MEMORY:
    'The process exceeded the memory limit of the service and was killed. Raise memory, or make the process use less.',
  PROCESS_LIMIT:
    'The instance has reached its limit of processes and threads (4,096 on Docker and Podman). Start fewer processes, end those that are no longer needed, or run more instances.',
  INSTANCE_EVICTED:
    'The cluster evicted the instance to protect a node that was short of memory, disk or process ids. The evidence has the message of the cluster; lower what the service uses, or have the operator add capacity.',
  PORT_NOT_LISTENING:
    'Nothing listens on a port of the service. Make the process listen on it on 0.0.0.0, or correct internal_port.',
  PROBE_FAILED: 'The readiness probe did not succeed in time. Compare its path, port and timing with what the process answers.',
  PORT_TAKEN:
    'A port of this machine that the service needs is already in use. Choose another external_port, or stop the other program.',
  CLUSTER_ACCESS_INVALID:
    'The kubeconfig of the cluster cannot be used. Store one that names an https server and has a token or a client certificate in its text; docs/kubernetes.md explains how to create it.',
  CLUSTER_ACCESS_DENIED:
    'The cluster rejects the credentials that Davit has for it, or does not permit this request. Grant the account of the kubeconfig the roles of docs/kubernetes.md, or store another kubeconfig with PUT …/cluster/{clusterId}/kubeconfig, then deploy again.',
  UNSCHEDULABLE:
    'The cluster has no node for the instance. Add nodes or free capacity, or lower cpu and memory of the service; the message has the reason.',
  QUOTA_EXCEEDED:
    'A quota of the cluster does not allow the instance. Raise the ResourceQuota or LimitRange of the namespace, or lower cpu, memory or the number of instances.',
  ADMISSION_REFUSED:
    'A policy of the cluster refused the instance. The message comes from the policy: change the service to comply with it, or have the policy changed.',
  SCHEDULE_REFUSED:
    'The cluster does not accept the schedule of the job. Correct schedule.cronjob (scheduled_at, timezone); the message comes from the cluster.',
  RUN_AS_ROOT:
    'The image runs as root, which this cluster does not allow. Give the image a numeric user (`USER 1000` in the Dockerfile), or have the operator set the cluster’s level to baseline.',
  AUTOSCALING_UNAVAILABLE:
    'The cluster cannot scale by events. Have its operator install what the message names (docs/scaling.md explains how), or remove autoscaling from the service (null).',
  SOURCES_UNRESTRICTED:
    'Davit cannot restrict client addresses on this cluster. Restrict them at its ingress controller, for example by an annotation group with the scope INGRESS, and set network.ingress.whitelist_source_range and network.ingress.denylist_source_range back to their defaults (null).',
  VOLUME_UNAVAILABLE:
    'The cluster did not provide the volume. Check that it has a default storage class, or one that its settings name, and enough space.',
  ENGINE_UNREACHABLE: 'The container engine does not answer. Start it (for example `systemctl start docker`), then deploy again.',
  ENGINE_FAILED:
    'The container engine refused a request for a reason that Davit does not know. The message comes from the engine.',
  CLUSTER_UNREACHABLE:
    'The cluster did not answer for as long as deployments wait (DAVIT_CLUSTER_WAIT_SECONDS). What ran there keeps running; check its API server and the network in between, then deploy again.',
  CLUSTER_NOT_CONNECTED:
    'Davit has no credentials for the cluster, or this version does not support clusters of its kind. Store its kubeconfig with PUT …/cluster/{clusterId}/kubeconfig.',
  BUILD_UNAVAILABLE:
    'Have the operator name a container registry as image_registry in the settings of the cluster (docs/kubernetes.md); or build the image elsewhere, push it to a container registry, and deploy it as a container.',
  TERRAFORM_UNAVAILABLE:
    'This machine cannot run Terraform or OpenTofu configurations. Have the operator install the program and set DAVIT_TERRAFORM_PROGRAM or DAVIT_TOFU_PROGRAM.',
  TERRAFORM_VERSION_UNAVAILABLE:
    'This machine has another version. Set provider_version.explicit_version to one that /terraform/availableVersion lists, or let the configuration decide with read_from_terraform_block.',
  TERRAFORM_FILES_MISSING:
    'terraform_files_source.git_repository.root_path does not exist in the repository at this commit. Correct it, or push the folder.',
  TERRAFORM_FRAGMENT_UNSUPPORTED:
    'A dockerfile_fragment cannot be used: Terraform runs as a program of this machine, or in an image that the operator names. Set it to null.',
  TERRAFORM_STATE_LOCKED:
    'Another run holds the lock of the state, or a run ended without releasing it. If no run is under way, deploy with the action FORCE_UNLOCK, then deploy again.',
  TERRAFORM_FAILED: 'A command of Terraform failed. Its last lines say why; what it had created by then is in the state.',
  TERRAFORM_INTERRUPTED:
    'The pod of the run ended early: its node was lost or ran out of space, or somebody deleted the pod. What it had created is in the state as far as that was stored; if the state is locked, deploy with the action FORCE_UNLOCK, then deploy again.',
  HELM_UNAVAILABLE:
    'No worker of Davit can deploy charts. Have the operator install Helm 4 on the machines of the workers, or set DAVIT_HELM to the program; ./davit doctor checks it.',
  HELM_NEEDS_KUBERNETES:
    'Charts can be installed on Kubernetes only. Put the environment on a Kubernetes cluster (cluster_id), or attach the service to its stage with is_skipped.',
  HELM_CHART_UNAVAILABLE:
    'The chart could not be fetched. Check chart_name, chart_version, and the url and config of the Helm repository; GET …/helmRepository/{helmRepositoryId}/charts lists its charts.',
  HELM_CHART_INVALID:
    'This is not a chart that can be installed. Check that git_repository.root_path is the folder with its Chart.yaml, and try `helm template` there.',
  HELM_VALUES_INVALID: 'The values cannot be passed to the chart. Correct what the message names in values_override.',
  HELM_ARGUMENT_REFUSED:
    'Remove the argument from arguments. docs/helm.md lists those that are accepted, and what replaces the others.',
  HELM_OUTSIDE_ENVIRONMENT:
    'The chart creates objects outside the namespace of its environment. Disable them in its values; or set allow_cluster_wide_resources, if the operator permits it.',
  HELM_RELEASE_TAKEN:
    'The namespace already has a Helm release of this name that Davit did not install. Remove it with `helm uninstall`, then deploy again.',
  HELM_FAILED: 'Helm failed. Its last lines say why; what was deployed before is unchanged.',
  BACKUP_FAILED:
    'The backup tool of the database failed. Its last lines say why; the next backup runs at its scheduled time, or request one now.',
  BACKUP_NOT_PROVEN:
    'The test restore of the backup failed, or did not contain what the database had. Do not rely on this backup: make another one.',
  BACKUP_DAMAGED: 'The stored backup differs from what was written. Use another backup, and check the disk it is on.',
  BACKUP_MISSING:
    'The file of the backup is missing from the backup folder. Copy it back to DAVIT_BACKUP_FOLDER, or use another backup; several servers on one database need one shared folder.',
  BACKUP_STORE_FAILED: 'The backup folder could not be read or written. Check owner, mode and disk of DAVIT_BACKUP_FOLDER.',
  BACKUP_TIMEOUT:
    'The backup or restore took longer than DAVIT_BACKUP_TIMEOUT_SECONDS and was stopped. Raise that limit, or make the database smaller.',
  RESTORE_FAILED:
    'The backup could not be restored. Its last lines say why; the safety backup has the former data of the database.',
  DISK_FULL: 'The disk of the engine or of Davit is full. Free space, then deploy again.',
  INSTANCE_DISK_EXCEEDED:
    'Write less to the file system of the instance, remove temporary files, or move data that must persist to a volume (storage).',
  VOLUME_EXCEEDED: 'Raise storage.size and deploy; or restart the service and remove files from its volumes within ten minutes.',
  GATEWAY_FAILED:
    'The gateway could not be changed. Check that HAProxy 2.6 or later is installed; `docs/operate.md` explains how to inspect it.',
  SECRETS_TOO_LARGE:
    'The secrets of all services of one deployment may have at most 16,777,216 characters. Keep large files in a volume, an image or an object store, and only the key to them in a secret; delete secrets that no service needs.',
  STEP_TIMEOUT: 'A step exceeded its time limit. The deployment log shows how far it got.',
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
      message: `The gateway serves all routes except ${list}.`,
      ...(first !== undefined && { hint: first.hint, evidence: first.evidence }),
    });
    this.name = 'RoutesLeftOutError';
    this.failures = failures;
  }
}
