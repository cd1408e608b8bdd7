import { jobEvents, kinds, type Body, type JobEvent, type operations, type Response } from '@davit/contract';
import { cronFault, isTimeZone, type JobCommand, type JobRelease, type ReleaseConfig } from '@davit/engine/port';
import { checkImage } from '../../shared/image-name.ts';
import { invalid, type Problems } from '../../shared/problems.ts';
import { toCommit } from '../../shared/history-details.ts';
import type { Groups } from '../groups.ts';
import type { ServiceRow } from '../rows.ts';
import { parseCommand } from '../shapes/command.ts';
import { plainPath, toGitRepository, type GitRepositorySpec } from '../shapes/git.ts';
import { toGitRecord } from '../shapes/git-record.ts';
import { checkBuild } from './application.ts';
import { imageReference } from './container.ts';
import { defineKind, type SourceRow } from './kind.ts';
import type { Caps, SpecRules } from '../spec.ts';
import { blankProcess, maximumGpu, mergedProcess, processRecord, type ProcessSpec } from './process.ts';
import { recordHead } from './record-head.ts';

type CreateRequest = Body<(typeof operations)['createJob']>;
type EditRequest = Body<(typeof operations)['editJob']>;
type DeployRequest = Body<(typeof operations)['deployJob']>;
type JobRecord = Response<(typeof operations)['getJob']>;
type SourceRequest = NonNullable<EditRequest['source']>;
type ScheduleRequest = NonNullable<EditRequest['schedule']>;

/** The program of a run, as stored. */
export interface CommandSpec {
  readonly arguments: readonly string[];
  readonly entrypoint: string | null;
}

export interface ScheduleSpec {
  readonly on_start: CommandSpec | null;
  readonly on_stop: CommandSpec | null;
  readonly on_delete: CommandSpec | null;
  readonly cronjob: (CommandSpec & { readonly timezone: string; readonly scheduled_at: string }) | null;
  readonly lifecycle_type: 'GENERIC' | 'TERRAFORM' | 'CLOUDFORMATION';
}

// The members are not nested, as the indexes that find users of a registry or token are on them. One of the two kinds
// of source is set.
interface ImageSpec {
  readonly registry_id: string;
  readonly image_name: string;
  readonly tag: string;
}
interface DockerSpec {
  readonly git_repository: GitRepositorySpec;
  readonly dockerfile_path: string | null;
  readonly dockerfile_raw: string | null;
  readonly docker_target_build_stage: string | null;
}
type JobSource = ImageSpec | DockerSpec;

/**
 * The settings of a job that users can change, with defaults applied. A job has the settings of a process without ports
 * and storage.
 */
export type JobSpec = ProcessSpec & {
  readonly max_nb_restart: number;
  readonly max_duration_seconds: number | null;
  readonly port: number | null;
  readonly schedule: ScheduleSpec;
} & JobSource;

const locations = { docker: 'source.docker.', image: 'source.image.' } as const;
const defaultDockerfile = 'Dockerfile';
// Path at which the build stores a Dockerfile sent in the request. No repository uses this name.
const ownDockerfile = '.davit.Dockerfile';
const icons = { LIFECYCLE: kinds.JOB.icon, CRON: 'cron-job' } as const;
const members = { START: 'on_start', STOP: 'on_stop', DELETE: 'on_delete', CRON: 'cronjob' } as const;

/** The kind of services that run to completion: at events of their environment, or by a schedule. */
export const job = defineKind({
  type: kinds.JOB.type,
  stageName: 'JOB DEFAULT',
  hostPrefix: 'job',
  requestPrefixes: locations,
  create: newJob,
  edit: editedJob,
  record: toJobRecord,
  workload: (spec: JobSpec) => spec,
  source: ({ spec, registry }: SourceRow<JobSpec>) =>
    isOfImage(spec)
      ? {
          type: 'IMAGE',
          image: imageReference(registry, spec.image_name),
          tag: spec.tag,
          registryId: spec.registry_id,
        }
      : {
          type: 'GIT',
          url: spec.git_repository.url,
          branch: spec.git_repository.branch,
          rootPath: spec.git_repository.root_path,
          dockerfilePath: plainPath(spec.dockerfile_raw === null ? (spec.dockerfile_path ?? defaultDockerfile) : ownDockerfile),
          targetStage: spec.docker_target_build_stage,
          gitTokenId: spec.git_repository.git_token_id,
          ...(spec.dockerfile_raw !== null && { dockerfile: spec.dockerfile_raw }),
        },
  release: ({ spec }: SourceRow<JobSpec>): Partial<ReleaseConfig> => ({
    ...toPorts(spec),
    instances: 0,
    job: toJobRelease(spec),
  }),
  oldHistory: (view) => ({ commit: toCommit(view.commit, view.createdAt) }),
  choice: (request: DeployRequest, query) => {
    const tag = request?.image_tag ?? null;
    const commitId = request?.git_commit_id?.toLowerCase() ?? null;
    const releaseId = request?.release_id ?? null;
    if (tag !== null && commitId !== null) {
      throw invalid('git_commit_id', 'cannot be sent together with image_tag: a job has one source; send the one that it has');
    }
    if (releaseId !== null && (tag !== null || commitId !== null)) {
      throw invalid(
        'release_id',
        'cannot be sent together with image_tag or git_commit_id: a release has its own; send one of them',
      );
    }
    const event = jobEvents.find((one) => one === query?.['forceEvent']);
    return {
      releaseId,
      commitId,
      ...(tag !== null && { edit: { source: { image: { tag } } } }),
      ...(event !== undefined && { event }),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- specs are stored with their type
      check: (spec) => checkChoice(spec as JobSpec, { tag, commitId, event }),
    };
  },
});

function checkChoice(
  spec: JobSpec,
  {
    tag,
    commitId,
    event,
  }: { readonly tag: string | null; readonly commitId: string | null; readonly event: JobEvent | undefined },
): void {
  if (tag !== null && !isOfImage(spec)) {
    throw invalid('image_tag', 'is for jobs whose source is an image; this one is built from a repository: send git_commit_id');
  }
  if (commitId !== null && isOfImage(spec)) {
    throw invalid(
      'git_commit_id',
      'is for jobs that are built from a repository; the source of this one is an image: send image_tag',
    );
  }
  if (event === undefined || spec.schedule[members[event]] !== null) return;
  const has = jobEvents.filter((one) => spec.schedule[members[one]] !== null);
  throw invalid('forceEvent', `names an event that this job does not have; it has ${has.join(', ')}. Nothing was deployed`);
}

function isOfImage(spec: JobSource): spec is ImageSpec {
  return 'image_name' in spec;
}

function jobType({ schedule }: Pick<JobSpec, 'schedule'>): 'LIFECYCLE' | 'CRON' {
  return schedule.cronjob === null ? 'LIFECYCLE' : 'CRON';
}

/** Returns only the source of a job. */
function sourceOf(spec: JobSource): JobSource {
  if (isOfImage(spec)) return { registry_id: spec.registry_id, image_name: spec.image_name, tag: spec.tag };
  const { git_repository, dockerfile_path, dockerfile_raw, docker_target_build_stage } = spec;
  return { git_repository, dockerfile_path, dockerfile_raw, docker_target_build_stage };
}

const noSchedule: ScheduleSpec = { on_start: null, on_stop: null, on_delete: null, cronjob: null, lifecycle_type: 'GENERIC' };
// Placeholder until a source is set; a request without a source is refused.
const noSource: ImageSpec = { registry_id: '', image_name: '', tag: '' };

function newJob(request: CreateRequest, rules: SpecRules): JobSpec {
  const isCron = (request.schedule.cronjob ?? null) !== null;
  const former: JobSpec = {
    ...blankProcess(icons[isCron ? 'CRON' : 'LIFECYCLE'], request, rules),
    max_nb_restart: 0,
    max_duration_seconds: null,
    port: null,
    schedule: noSchedule,
    ...noSource,
  };
  if (!request.healthchecks) rules.problems.add('healthchecks', 'is required; send {} for none');
  return specAfter(request, former, rules, null);
}

/**
 * Returns the spec after an edit. A new schedule replaces the former one entirely. If the type of source stays, omitted
 * members of the source stay too.
 */
function editedJob(request: EditRequest, former: JobSpec, rules: SpecRules): JobSpec {
  return specAfter(request, former, rules, former);
}

function specAfter(request: EditRequest, former: JobSpec, rules: SpecRules, before: JobSource | null): JobSpec {
  const { problems } = rules;
  // A job has neither ports nor storage, so its requests have no members for them.
  const process = mergedProcess(request, former, rules);
  return {
    ...process,
    max_nb_restart: request.max_nb_restart ?? former.max_nb_restart,
    max_duration_seconds: request.max_duration_seconds === undefined ? former.max_duration_seconds : request.max_duration_seconds,
    port: request.port === undefined ? former.port : request.port,
    schedule: request.schedule ? toSchedule(request.schedule, problems) : former.schedule,
    ...(request.source || before === null ? toSource(request.source ?? {}, before, rules) : sourceOf(before)),
  };
}

function toSource({ image, docker }: SourceRequest, former: JobSource | null, rules: SpecRules): JobSource {
  const { problems } = rules;
  if ((image ?? null) !== null && (docker ?? null) !== null) {
    problems.add('source', 'must have exactly one of image and docker; both are set');
  }
  if (image) return toImage(image, former !== null && isOfImage(former) ? former : null, problems);
  if (docker) return toDocker(docker, former !== null && !isOfImage(former) ? former : null, rules);
  if (former !== null) return sourceOf(former);
  problems.add('source', 'must have exactly one of image and docker; neither is set');
  return noSource;
}

function toImage(request: NonNullable<SourceRequest['image']>, former: ImageSpec | null, problems: Problems): ImageSpec {
  const at = problems.below('source.image');
  const spec: ImageSpec = {
    registry_id: request.registry_id?.toLowerCase() ?? former?.registry_id ?? '',
    image_name: request.image_name ?? former?.image_name ?? '',
    tag: request.tag ?? former?.tag ?? '',
  };
  const missing = (['image_name', 'tag', 'registry_id'] as const).filter((member) => spec[member] === '');
  for (const member of missing) at.add(member, 'is required');
  if (missing.length === 0) checkImage(spec, at);
  return spec;
}

function toDocker(request: NonNullable<SourceRequest['docker']>, former: DockerSpec | null, rules: SpecRules): JobSource {
  const at = rules.problems.below('source.docker');
  const repository = { problems: at, allowLocal: rules.allowLocalRepositories };
  const git = request.git_repository
    ? toGitRepository(request.git_repository, former?.git_repository ?? null, repository)
    : former?.git_repository;
  if (git === undefined) {
    at.add('git_repository', 'is required');
    return noSource;
  }
  const spec: DockerSpec = {
    git_repository: git,
    dockerfile_path: request.dockerfile_path === undefined ? (former?.dockerfile_path ?? null) : request.dockerfile_path || null,
    dockerfile_raw: request.dockerfile_raw === undefined ? (former?.dockerfile_raw ?? null) : request.dockerfile_raw || null,
    docker_target_build_stage:
      request.docker_target_build_stage === undefined
        ? (former?.docker_target_build_stage ?? null)
        : request.docker_target_build_stage || null,
  };
  if (spec.dockerfile_path !== null && spec.dockerfile_raw !== null) {
    at.add('dockerfile_raw', 'cannot be set together with dockerfile_path: one is the path of a Dockerfile, the other its text');
  }
  checkBuild({ ...spec, dockerfile_path: spec.dockerfile_path ?? defaultDockerfile }, at);
  return spec;
}

function toSchedule(request: ScheduleRequest, problems: Problems): ScheduleSpec {
  const at = problems.below('schedule');
  const commandOf = (member: 'on_start' | 'on_stop' | 'on_delete'): CommandSpec | null => {
    const command = request[member];
    return command ? toCommand(command, member, at) : null;
  };
  const events = { on_start: commandOf('on_start'), on_stop: commandOf('on_stop'), on_delete: commandOf('on_delete') };
  const isLifecycle = Object.values(events).some((command) => command !== null);
  const { cronjob, lifecycle_type } = request;
  if (!cronjob) {
    if (!isLifecycle) {
      problems.add('schedule', 'must have at least one of on_start, on_stop and on_delete, or, for a cron job, cronjob');
    }
    return { ...events, cronjob: null, lifecycle_type: lifecycle_type ?? 'GENERIC' };
  }
  if (isLifecycle || lifecycle_type) {
    problems.add('schedule', 'of a cron job may only have cronjob; leave on_start, on_stop, on_delete and lifecycle_type out');
  }
  const fault = cronFault(cronjob.scheduled_at);
  if (fault !== null) at.add('cronjob.scheduled_at', fault);
  const timezone = cronjob.timezone || 'Etc/UTC';
  if (!isTimeZone(timezone)) {
    at.add('cronjob.timezone', 'must be the name of a time zone of the IANA database, as in Europe/Paris or Etc/UTC');
  }
  const command = toCommand(cronjob, 'cronjob', at);
  return { ...noSchedule, cronjob: { ...command, timezone, scheduled_at: cronjob.scheduled_at.trim() } };
}

type CommandRequest = NonNullable<ScheduleRequest['on_start']>;

function toCommand(request: CommandRequest, member: string, problems: Problems): CommandSpec {
  const entrypoint = request.entrypoint || null;
  const parsed = parseCommand(entrypoint ?? '');
  if ('fault' in parsed) problems.add(`${member}.entrypoint`, `${parsed.fault}; quote it as for a shell`);
  return { arguments: request.arguments ?? [], entrypoint };
}

// The port serves the probes of the run only; no other service reaches it.
function toPorts({ port }: JobSpec): Pick<ReleaseConfig, 'ports'> {
  if (port === null) return { ports: [] };
  const closed = { public: false, isDefault: false, externalPort: null, hosts: [], pathPrefix: '/', pathRewrite: null };
  return { ports: [{ id: 'port', name: `p${port}`, internalPort: port, protocol: 'TCP', ...closed }] };
}

function toJobRelease({ schedule, max_nb_restart, max_duration_seconds }: JobSpec): JobRelease {
  const { cronjob } = schedule;
  const events: Partial<Record<JobEvent, JobCommand>> = {};
  for (const event of jobEvents) {
    const command = schedule[members[event]];
    if (command !== null) events[event] = { entrypoint: words(command.entrypoint), arguments: command.arguments };
  }
  return {
    events,
    schedule: cronjob === null ? null : { expression: cronjob.scheduled_at, timezone: cronjob.timezone },
    maximumRestarts: max_nb_restart,
    // The contract allows 0, which would end every run before it began. Zero therefore means no limit, like an omitted
    // value.
    maximumSeconds: max_duration_seconds || null,
  };
}

// The command was checked when it was stored.
function words(entrypoint: string | null): readonly string[] {
  const command = parseCommand(entrypoint ?? '');
  return 'words' in command ? command.words : [];
}

function toJobRecord(row: ServiceRow<JobSpec>, caps: Caps | null, groups?: Groups): JobRecord {
  const { spec } = row;
  const process = processRecord(spec, groups);
  return {
    ...recordHead(row, kinds.JOB.type),
    job_type: jobType(spec),
    description: process.description,
    icon_uri: process.icon_uri,
    cpu: process.cpu,
    memory: process.memory,
    gpu: process.gpu,
    auto_preview: process.auto_preview,
    auto_deploy: process.auto_deploy,
    healthchecks: process.healthchecks,
    annotations_groups: process.annotations_groups,
    labels_groups: process.labels_groups,
    // The contract requires this member. If the cluster never responded, the record shows the accepted value.
    maximum_cpu: caps?.cpuMillicores ?? spec.cpu,
    maximum_memory: caps?.memoryMiB ?? spec.memory,
    maximum_gpu: maximumGpu,
    max_nb_restart: spec.max_nb_restart,
    ...(spec.max_duration_seconds === null ? {} : { max_duration_seconds: spec.max_duration_seconds }),
    port: spec.port,
    source: toSourceRecord(row),
    schedule: toScheduleRecord(spec.schedule),
  };
}

function toSourceRecord(row: ServiceRow<JobSpec>): JobRecord['source'] {
  const { spec, registry } = row;
  if (isOfImage(spec)) {
    if (registry === null) throw new Error(`job ${row.id} has no registry`);
    return { image: { image_name: spec.image_name, tag: spec.tag, registry_id: spec.registry_id, registry } };
  }
  return {
    docker: {
      git_repository: toGitRecord(spec.git_repository, row.git_token_name, row.deployed_commit),
      // If neither member is set, the default applies and is shown.
      dockerfile_path: spec.dockerfile_path ?? (spec.dockerfile_raw === null ? defaultDockerfile : null),
      dockerfile_raw: spec.dockerfile_raw,
      docker_target_build_stage: spec.docker_target_build_stage,
    },
  };
}

function toScheduleRecord({ cronjob, lifecycle_type, ...events }: ScheduleSpec): JobRecord['schedule'] {
  if (cronjob !== null) {
    const { timezone, scheduled_at } = cronjob;
    return { cronjob: { ...toCommandRecord(cronjob), timezone, scheduled_at } };
  }
  return {
    ...(events.on_start !== null && { on_start: toCommandRecord(events.on_start) }),
    ...(events.on_stop !== null && { on_stop: toCommandRecord(events.on_stop) }),
    ...(events.on_delete !== null && { on_delete: toCommandRecord(events.on_delete) }),
    lifecycle_type,
  };
}

function toCommandRecord({ arguments: words, entrypoint }: CommandSpec): { arguments: string[]; entrypoint?: string } {
  return { arguments: [...words], ...(entrypoint !== null && { entrypoint }) };
}
