import Type from 'typebox';
import { AnnotationsGroup } from '../group/annotations-group.ts';
import { LabelsGroup } from '../group/labels-group.ts';
import { about, DateTime, enumeration, Name, Named, Nullable, Optionals, Reference, Uuid, Words } from '../shape.ts';
import { Commit } from '../shared/commit.ts';
import { DryRun } from '../shared/deployment-plan.ts';
import { jobTypes } from '../shared/words.ts';
import { RegistryDetails } from './container.ts';
import { advancedSettingsOperations, jobSettings } from './advanced-settings.ts';
import { kinds } from './kinds.ts';
import { GitRepository, GitRepositoryRequest, Healthchecks, processFields } from './parts.ts';
import { metricsOperations } from './metrics.ts';
import { deployOperations, stopOperations } from './deploy-operations.ts';
import { statusOperations, historyOperations, oldHistoryOperations, logOperations } from './reading-operations.ts';
import { recordOperations, cloneOperations } from './record-operations.ts';

export const lifecycleTypes = enumeration(
  'JobLifecycleType',
  { GENERIC: 'Any command.', TERRAFORM: 'Terraform commands.', CLOUDFORMATION: 'CloudFormation commands.' },
  'The purpose of a lifecycle job; it has no effect.',
);
/** Events that start a run of a job; `forceEvent` names one of them. */
export const jobEvents = enumeration(
  'JobEvent',
  {
    START: 'The command `on_start`.',
    STOP: 'The command `on_stop`.',
    DELETE: 'The command `on_delete`.',
    CRON: 'The command of the schedule.',
  },
  'An event that starts a run of a job.',
);
export type JobEvent = (typeof jobEvents)[number];

const command = {
  arguments: Type.Optional(about('The arguments; empty: those of the image.', Type.Array(Type.String()))),
  entrypoint: Type.Optional(about('The program. Absent: that of the image.', Type.String())),
};
const Command = Named('JobCommand', Type.Object(command), 'The command of an event.');

const LifecycleSchedule = Named(
  'JobLifecycleSchedule',
  Type.Object({
    on_start: Type.Optional(about('Runs when the job is deployed.', Command)),
    on_stop: Type.Optional(about('Runs when the job is stopped.', Command)),
    on_delete: Type.Optional(about('Runs before the job is deleted or uninstalled.', Command)),
    lifecycle_type: Type.Optional(Words(lifecycleTypes)),
  }),
  'The commands of a lifecycle job. An event without a command is skipped.',
);
const CronSchedule = Named(
  'JobCronSchedule',
  Type.Object({
    cronjob: Named(
      'JobCron',
      Type.Object({
        ...command,
        timezone: about('The time zone of the expression.', Type.String()),
        scheduled_at: about('The cron expression, five fields.', Type.String()),
      }),
      'The times and the command of a cron job.',
    ),
  }),
  'The schedule of a cron job.',
);

const ImageSource = Named(
  'JobImageSource',
  Type.Object({
    image: Named(
      'JobImage',
      Type.Object({
        image_name: about('The name of the image in the registry.', Type.String()),
        tag: about('The tag of the image.', Type.String()),
        registry_id: Type.Optional(about('The registry of the image.', Uuid)),
        registry: RegistryDetails,
      }),
      'The image that a job runs.',
    ),
  }),
  'The image of a container registry.',
);
const DockerSource = Named(
  'JobDockerSource',
  Type.Object({
    docker: Named(
      'JobDocker',
      Type.Object({
        git_repository: Type.Optional(GitRepository),
        dockerfile_path: Type.Optional(
          about('The Dockerfile, relative to `root_path`; null with `dockerfile_raw`.', Nullable(Type.String())),
        ),
        dockerfile_raw: Type.Optional(about('The text of the Dockerfile; null: a file.', Nullable(Type.String()))),
        docker_target_build_stage: Type.Optional(about('The stage that is built; null: the last.', Nullable(Type.String()))),
      }),
      'How the image of a job is built.',
    ),
  }),
  'An image that is built from a repository.',
);

export const Job = Named(
  'Job',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    environment: about('The environment it belongs to.', Reference),
    maximum_cpu: about('What the cluster has, in millicores.', Type.Integer()),
    maximum_memory: about('What the cluster has, in MB.', Type.Integer()),
    maximum_gpu: about('What the cluster has; always 0.', Type.Integer()),
    name: about('Its name, unique in the environment without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    cpu: about('The CPU limit of a run, in millicores.', Type.Integer()),
    memory: about('The memory limit of a run, in MB.', Type.Integer()),
    gpu: about('GPUs; always 0.', Type.Integer()),
    max_nb_restart: Type.Optional(about('How often a failed run is repeated.', Type.Integer())),
    max_duration_seconds: Type.Optional(about('The longest run. Absent or 0: 24 hours.', Type.Integer())),
    auto_preview: about('Whether pull requests get a preview with it.', Type.Boolean()),
    port: Type.Optional(about('The port that probes use; null: none.', Nullable(Type.Integer()))),
    source: about('Where its image comes from.', Type.Union([ImageSource, DockerSource])),
    healthchecks: about('Its probes; the local engine does not run them.', Healthchecks),
    auto_deploy: Type.Optional(about('Whether a push, or a notified image tag, deploys it.', Type.Boolean())),
    annotations_groups: Type.Optional(about('The annotation groups that it uses.', Type.Array(AnnotationsGroup))),
    labels_groups: Type.Optional(about('The label groups that it uses.', Type.Array(LabelsGroup))),
    icon_uri: about('The icon of the service.', Type.String()),
    service_type: about('The type, which tells records apart.', Words(['JOB'] as const)),
    job_type: Words(jobTypes),
    // Each kind of schedule lacks the required member of the other, so a record's kind follows from its schedule.
    schedule: about('Its events or times; the kind follows from it.', Type.Union([CronSchedule, LifecycleSchedule])),
  }),
  'A service that runs to completion, at events of its environment or at times.',
);

const CommandRequest = Type.Optional(
  Nullable(Optionals({ arguments: processFields.arguments, entrypoint: processFields.entrypoint })),
);

const ScheduleRequest = Named(
  'JobScheduleRequest',
  Optionals({
    on_start: about('Runs when the job is deployed; null: nothing.', CommandRequest),
    on_stop: about('Runs when the job is stopped; null: nothing.', CommandRequest),
    on_delete: about('Runs before the job is deleted or uninstalled; null: nothing.', CommandRequest),
    cronjob: Type.Optional(
      about(
        'Makes it a cron job, alone.',
        Nullable(
          Named(
            'JobCronRequest',
            Type.Object({
              arguments: processFields.arguments,
              entrypoint: processFields.entrypoint,
              timezone: Type.Optional(
                about('The IANA time zone of the expression.', Nullable(Type.String({ default: 'Etc/UTC', maxLength: 100 }))),
              ),
              scheduled_at: about(
                'A cron expression of five fields, such as `0 3 * * *`.',
                Type.String({ minLength: 1, maxLength: 255 }),
              ),
            }),
            'The times and the command of a cron job.',
          ),
        ),
      ),
    ),
    lifecycle_type: Type.Optional(
      about('The purpose of a lifecycle job.', Nullable(Words(lifecycleTypes, { default: 'GENERIC' }))),
    ),
  }),
  'Either commands of events or `cronjob`. The object replaces the former schedule.',
);

const tag = Type.String({ minLength: 1, maxLength: 255 });

/**
 * The source of a job. Exactly one of the two members is set. An edit keeps the omitted members of the current source.
 */
const SourceRequest = Named(
  'JobSourceRequest',
  Optionals({
    image: Type.Optional(
      about(
        'An image of a container registry.',
        Nullable(
          Named(
            'JobImageRequest',
            Optionals({
              image_name: about('The image without registry and tag.', Type.String({ minLength: 1, maxLength: 255 })),
              tag: about('The tag of the image.', tag),
              registry_id: about('A container registry of the organization.', Uuid),
            }),
            'An image of a registry. An edit keeps the members that you leave out.',
          ),
        ),
      ),
    ),
    docker: Type.Optional(
      about(
        'An image that is built from a repository.',
        Nullable(
          Named(
            'JobDockerRequest',
            Optionals({
              git_repository: GitRepositoryRequest,
              dockerfile_path: about(
                'The Dockerfile, relative to `root_path`; by default `Dockerfile`.',
                Nullable(Type.String({ maxLength: 1000 })),
              ),
              dockerfile_raw: about(
                'The text of a Dockerfile, instead of a path.',
                Nullable(Type.String({ maxLength: 100_000 })),
              ),
              docker_target_build_stage: about('The stage to build; null: the last.', Nullable(Type.String({ maxLength: 255 }))),
            }),
            'How to build the image. An edit keeps the members that you leave out.',
          ),
        ),
      ),
    ),
  }),
  'Where the image comes from; set exactly one member.',
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
  max_nb_restart: about('How often a failed run is repeated.', number(0, { default: 0 })),
  max_duration_seconds: about('The longest run, repetitions included. 0 or null: 24 hours.', number(0)),
  port: Type.Optional(about('The port that probes use; null: none.', Nullable(Type.Integer({ minimum: 1, maximum: 65_535 })))),
};

const JobRequest = Named(
  'JobRequest',
  Type.Object({
    name: about('Its name, unique in the environment without regard to case.', Name),
    source: SourceRequest,
    schedule: ScheduleRequest,
    ...jobFields,
  }),
  'A job to create. `healthchecks` is required; send `{}` for none.',
);
const JobEditRequest = Named(
  'JobEditRequest',
  Type.Object({
    name: Type.Optional(about('Its new name, unique in the environment without regard to case.', Name)),
    source: Type.Optional(about('Where its image comes from; null has no effect.', Nullable(SourceRequest))),
    schedule: Type.Optional(
      about('When it runs; it replaces the former schedule. null has no effect.', Nullable(ScheduleRequest)),
    ),
    ...jobFields,
  }),
  'The fields of a job to change; the others stay.',
);

const DeployRequest = Named(
  'JobDeployRequest',
  Type.Object({
    image_tag: Type.Optional(about('Another tag of the image; it becomes the configured one.', Nullable(tag))),
    git_commit_id: Type.Optional(
      about(
        'A commit to build, as 7 to 64 hex digits; not with a tag.',
        Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' })),
      ),
    ),
    release_id: Type.Optional(about('An earlier release from the history, to roll back.', Nullable(Uuid))),
  }),
  'What to deploy. Without a body: the newest commit, or the configured tag.',
);
const DeployQuery = Type.Object({
  ...DryRun.properties,
  forceEvent: Type.Optional(about('Only run this event once, and change nothing else.', Words(jobEvents))),
});

export const jobOperations = {
  ...recordOperations(kinds.JOB, { record: Job, create: JobRequest, edit: JobEditRequest }),
  ...deployOperations(kinds.JOB, {
    body: DeployRequest,
    answer: Type.Object({}),
    query: DeployQuery,
    description: `
      Builds or pulls the image, then runs \`on_start\` of a lifecycle job or arms the schedule of a cron job.
      \`image_tag\` becomes its tag; \`git_commit_id\` and \`release_id\` choose another version. \`forceEvent\` only
      runs that event, once for each request.
    `,
  }),
  ...stopOperations(kinds.JOB),
  ...cloneOperations(kinds.JOB, Job),
  ...statusOperations(kinds.JOB),
  ...historyOperations(kinds.JOB),
  ...advancedSettingsOperations(kinds.JOB, { Word: 'Job', ...jobSettings }),
  ...oldHistoryOperations(kinds.JOB, { commit: Type.Optional(about('The commit that was deployed.', Nullable(Commit))) }),
  ...logOperations(kinds.JOB),
  ...metricsOperations(kinds.JOB),
};
