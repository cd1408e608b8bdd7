import Type from 'typebox';
import { AnnotationsGroup } from '../group/annotations-group.ts';
import { LabelsGroup } from '../group/labels-group.ts';
import { DateTime, Name, Nullable, Optionals, Reference, Uuid, Words, Named } from '../shape.ts';
import { Commit, DryRun } from '../shared/deployment.ts';
import { RegistryDetails } from './container.ts';
import { advancedSettingsOperations, jobSettings } from './advanced-settings.ts';
import { kinds } from './kinds.ts';
import { GitRepository, GitRepositoryRequest, Healthchecks, processFields } from './parts.ts';
import { metricsOperations } from './metrics.ts';
import * as shared from './shared-operations.ts';

export const jobTypes = ['LIFECYCLE', 'CRON'] as const;
export const lifecycleTypes = ['GENERIC', 'TERRAFORM', 'CLOUDFORMATION'] as const;
/** Events that start a run of a job; `forceEvent` names one of them. */
export const jobEvents = ['START', 'STOP', 'DELETE', 'CRON'] as const;
export type JobEvent = (typeof jobEvents)[number];

const command = {
  arguments: Type.Optional(Type.Array(Type.String())),
  entrypoint: Type.Optional(Type.String()),
};
const Command = Named('JobCommand', Type.Object(command));

const LifecycleSchedule = Named(
  'JobLifecycleSchedule',
  Type.Object({
    on_start: Type.Optional(Command),
    on_stop: Type.Optional(Command),
    on_delete: Type.Optional(Command),
    lifecycle_type: Type.Optional(Words(lifecycleTypes)),
  }),
);
const CronSchedule = Named(
  'JobCronSchedule',
  Type.Object({
    cronjob: Named('JobCron', Type.Object({ ...command, timezone: Type.String(), scheduled_at: Type.String() })),
  }),
);

const ImageSource = Named(
  'JobImageSource',
  Type.Object({
    image: Named(
      'JobImage',
      Type.Object({
        image_name: Type.String(),
        tag: Type.String(),
        registry_id: Type.Optional(Uuid),
        registry: RegistryDetails,
      }),
    ),
  }),
);
const DockerSource = Named(
  'JobDockerSource',
  Type.Object({
    docker: Named(
      'JobDocker',
      Type.Object({
        git_repository: Type.Optional(GitRepository),
        dockerfile_path: Type.Optional(Nullable(Type.String())),
        dockerfile_raw: Type.Optional(Nullable(Type.String())),
        docker_target_build_stage: Type.Optional(Nullable(Type.String())),
      }),
    ),
  }),
);

export const Job = Named(
  'Job',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    environment: Reference,
    maximum_cpu: Type.Integer(),
    maximum_memory: Type.Integer(),
    maximum_gpu: Type.Integer(),
    name: Type.String(),
    description: Type.Optional(Type.String()),
    cpu: Type.Integer(),
    memory: Type.Integer(),
    gpu: Type.Integer(),
    max_nb_restart: Type.Optional(Type.Integer()),
    max_duration_seconds: Type.Optional(Type.Integer()),
    auto_preview: Type.Boolean(),
    port: Type.Optional(Nullable(Type.Integer())),
    source: Type.Union([ImageSource, DockerSource]),
    healthchecks: Healthchecks,
    auto_deploy: Type.Optional(Type.Boolean()),
    annotations_groups: Type.Optional(Type.Array(AnnotationsGroup)),
    labels_groups: Type.Optional(Type.Array(LabelsGroup)),
    icon_uri: Type.String(),
    service_type: Words(['JOB'] as const),
    job_type: Words(jobTypes),
    // Each kind of schedule lacks the required member of the other, so a record's kind follows from its schedule.
    schedule: Type.Union([CronSchedule, LifecycleSchedule]),
  }),
);

const CommandRequest = Type.Optional(
  Nullable(Optionals({ arguments: processFields.arguments, entrypoint: processFields.entrypoint })),
);

const ScheduleRequest = Named(
  'JobScheduleRequest',
  Optionals({
    on_start: CommandRequest,
    on_stop: CommandRequest,
    on_delete: CommandRequest,
    cronjob: Type.Optional(
      Nullable(
        Named(
          'JobCronRequest',
          Type.Object({
            arguments: processFields.arguments,
            entrypoint: processFields.entrypoint,
            timezone: Type.Optional(Nullable(Type.String({ default: 'Etc/UTC', maxLength: 100 }))),
            scheduled_at: Type.String({ minLength: 1, maxLength: 255 }),
          }),
        ),
      ),
    ),
    lifecycle_type: Type.Optional(Nullable(Words(lifecycleTypes, { default: 'GENERIC' }))),
  }),
);

const tag = Type.String({ minLength: 1, maxLength: 255 });

/**
 * The source of a job. Exactly one of the two members is set. An edit keeps the omitted members of the current source.
 */
const SourceRequest = Named(
  'JobSourceRequest',
  Optionals({
    image: Type.Optional(
      Nullable(
        Named(
          'JobImageRequest',
          Optionals({ image_name: Type.String({ minLength: 1, maxLength: 255 }), tag, registry_id: Uuid }),
        ),
      ),
    ),
    docker: Type.Optional(
      Nullable(
        Named(
          'JobDockerRequest',
          Optionals({
            git_repository: GitRepositoryRequest,
            dockerfile_path: Nullable(Type.String({ maxLength: 1000 })),
            dockerfile_raw: Nullable(Type.String({ maxLength: 100_000 })),
            docker_target_build_stage: Nullable(Type.String({ maxLength: 255 })),
          }),
        ),
      ),
    ),
  }),
);

const { description, cpu, memory, gpu, cpu_architecture, ephemeral_storage_in_gib, healthchecks } = processFields;
const { auto_preview, auto_deploy, annotations_groups, labels_groups, icon_uri } = processFields;
const number = (minimum: number, options: object = {}) =>
  Type.Optional(Nullable(Type.Integer({ minimum, maximum: 2_147_483_647, ...options })));
const jobFields = {
  description,
  cpu,
  memory,
  gpu,
  cpu_architecture,
  ephemeral_storage_in_gib,
  healthchecks,
  auto_preview,
  auto_deploy,
  annotations_groups,
  labels_groups,
  icon_uri,
  max_nb_restart: number(0, { default: 0 }),
  max_duration_seconds: number(0),
  port: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 65_535 }))),
};

const JobRequest = Named(
  'JobRequest',
  Type.Object({ name: Name, source: SourceRequest, schedule: ScheduleRequest, ...jobFields }),
);
const JobEditRequest = Named(
  'JobEditRequest',
  Type.Object({
    name: Type.Optional(Name),
    source: Type.Optional(Nullable(SourceRequest)),
    schedule: Type.Optional(Nullable(ScheduleRequest)),
    ...jobFields,
  }),
);

const DeployRequest = Named(
  'JobDeployRequest',
  Type.Object({
    image_tag: Type.Optional(Nullable(tag)),
    git_commit_id: Type.Optional(Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' }))),
    release_id: Type.Optional(Nullable(Uuid)),
  }),
);
const DeployQuery = Type.Object({ ...DryRun.properties, forceEvent: Type.Optional(Words(jobEvents)) });

export const jobOperations = {
  ...shared.recordOperations(kinds.JOB, { record: Job, create: JobRequest, edit: JobEditRequest }),
  ...shared.deployOperations(kinds.JOB, {
    body: DeployRequest,
    answer: Type.Object({}),
    query: DeployQuery,
    summary:
      'Deploy a job: run its on_start, or arm its schedule; at `image_tag`, which then becomes its tag, `git_commit_id`, or an earlier release; `forceEvent` runs that event once instead',
  }),
  ...shared.stopOperations(kinds.JOB),
  ...shared.cloneOperations(kinds.JOB, Job),
  ...shared.statusOperations(kinds.JOB),
  ...shared.historyOperations(kinds.JOB),
  ...advancedSettingsOperations(kinds.JOB, { Word: 'Job', ...jobSettings }),
  ...shared.oldHistoryOperations(kinds.JOB, { commit: Type.Optional(Nullable(Commit)) }),
  ...shared.logOperations(kinds.JOB),
  ...metricsOperations(kinds.JOB),
};
