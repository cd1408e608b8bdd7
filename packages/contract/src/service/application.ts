import Type from 'typebox';
import { AnnotationsGroup } from '../group/annotations-group.ts';
import { LabelsGroup } from '../group/labels-group.ts';
import { about, DateTime, Name, Named, Nullable, Reference, Uuid, Words } from '../shape.ts';
import { Autoscaling } from './autoscaling.ts';
import { advancedSettingsOperations, applicationSettings } from './advanced-settings.ts';
import { customDomainOperations, customDomainStatusOperations } from './custom-domain.ts';
import { kinds } from './kinds.ts';
import { networkOperations } from './network.ts';
import { GitRepository, GitRepositoryRequest, Healthchecks, ServicePort, processFields, Storage } from './parts.ts';
import { Commit } from '../shared/commit.ts';
import { DryRun } from '../shared/deployment-plan.ts';
import { metricsOperations } from './metrics.ts';
import { deployOperations, restartOperations, stopOperations } from './deploy-operations.ts';
import {
  statusOperations,
  historyOperations,
  oldHistoryOperations,
  linkOperations,
  logOperations,
} from './reading-operations.ts';
import { recordOperations, cloneOperations } from './record-operations.ts';

export const Application = Named(
  'Application',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    environment: about('The environment it belongs to.', Reference),
    name: about('Its name, unique in the environment without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    // Only the application's own type, so that clients can distinguish the records of several types.
    service_type: about('The type, which tells records apart.', Words(['APPLICATION'] as const)),
    autoscaling: Type.Optional(about('Scaling by events. Absent: by CPU and memory.', Autoscaling)),
    icon_uri: about('The icon of the service.', Type.String()),
    build_mode: Type.Optional(about('How it is built; DOCKER is the only way.', Words(['DOCKER'] as const))),
    dockerfile_path: Type.Optional(about('The Dockerfile, relative to `root_path`.', Nullable(Type.String()))),
    docker_target_build_stage: Type.Optional(about('The stage that is built; null: the last.', Nullable(Type.String()))),
    cpu: Type.Optional(about('The CPU limit of an instance, in millicores.', Type.Integer())),
    memory: Type.Optional(about('The memory limit of an instance, in MB.', Type.Integer())),
    gpu: Type.Optional(about('GPUs; always 0.', Type.Integer())),
    maximum_cpu: Type.Optional(about('What the cluster has, in millicores. Absent: unknown.', Type.Integer())),
    maximum_memory: Type.Optional(about('What the cluster has, in MB. Absent: unknown.', Type.Integer())),
    maximun_gpu: Type.Optional(about('What the cluster has; always 0. The spelling is the public one.', Type.Integer())),
    min_running_instances: Type.Optional(about('The least instances.', Type.Integer())),
    max_running_instances: Type.Optional(about('The most instances; -1: as the cluster can hold.', Type.Integer())),
    auto_preview: Type.Optional(about('Whether pull requests get a preview with it.', Type.Boolean())),
    auto_deploy: Type.Optional(about('Whether a push deploys it.', Type.Boolean())),
    arguments: Type.Optional(about('The arguments of the process; empty: those of the image.', Type.Array(Type.String()))),
    entrypoint: Type.Optional(about('The program. Absent: that of the image.', Type.String())),
    ports: Type.Optional(about('The ports of the service.', Type.Array(ServicePort))),
    storage: about('The volumes of the service.', Type.Array(Storage)),
    healthchecks: Healthchecks,
    git_repository: Type.Optional(GitRepository),
    annotations_groups: Type.Optional(about('The annotation groups that it uses.', Type.Array(AnnotationsGroup))),
    labels_groups: Type.Optional(about('The label groups that it uses.', Type.Array(LabelsGroup))),
  }),
  'A service that Davit builds from a Dockerfile in a git repository, and runs.',
);

const buildFields = {
  build_mode: Type.Optional(
    about('How it is built; DOCKER is the only way.', Nullable(Words(['DOCKER'] as const, { default: 'DOCKER' }))),
  ),
  dockerfile_path: Type.Optional(
    about('The Dockerfile, relative to `root_path`; required when you create.', Nullable(Type.String({ maxLength: 1000 }))),
  ),
  docker_target_build_stage: Type.Optional(
    about('The stage to build, as in `FROM … AS name`; null: the last.', Nullable(Type.String({ maxLength: 255 }))),
  ),
};

export const ApplicationRequest = Named(
  'ApplicationRequest',
  Type.Object({
    name: about('Its name, unique in the environment without regard to case.', Name),
    git_repository: GitRepositoryRequest,
    ...buildFields,
    ...processFields,
  }),
  'An application to create.',
);
const ApplicationEditRequest = Named(
  'ApplicationEditRequest',
  Type.Object({
    name: Type.Optional(about('Its new name, unique in the environment without regard to case.', Name)),
    git_repository: Type.Optional(about('Where its source is; null has no effect.', Nullable(GitRepositoryRequest))),
    ...buildFields,
    ...processFields,
  }),
  'The fields of an application to change; the others stay.',
);

const DeployRequest = Named(
  'ApplicationDeployRequest',
  Type.Object({
    git_commit_id: Type.Optional(
      about(
        'A commit, as 7 to 64 hex digits; it must be reachable from the branch.',
        Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' })),
      ),
    ),
    release_id: Type.Optional(about('An earlier release from the history, to roll back; not with a commit.', Nullable(Uuid))),
  }),
  'What to deploy. Without a body: the newest commit of the branch.',
);

export const applicationOperations = {
  ...recordOperations(kinds.APPLICATION, {
    record: Application,
    create: ApplicationRequest,
    edit: ApplicationEditRequest,
  }),
  ...deployOperations(kinds.APPLICATION, {
    query: DryRun,
    body: DeployRequest,
    answer: Named(
      'ApplicationDeploymentStart',
      Type.Partial(
        Type.Object({
          status: about('The request is QUEUED.', Type.String()),
          application_id: about('The `id` of the application.', Uuid),
          created_at: about('When the request was made.', DateTime),
        }),
      ),
      'Further fields of the answer to a deploy; absent in a plan.',
    ),
    description: `
      Builds and starts the newest commit of the branch, \`git_commit_id\`, or an earlier release by \`release_id\`,
      which is a rollback. New instances replace the running ones when they are ready; if one fails or takes longer than
      \`Healthchecks\` allows, the former ones stay.
    `,
  }),
  ...restartOperations(kinds.APPLICATION),
  ...stopOperations(kinds.APPLICATION),
  ...statusOperations(kinds.APPLICATION),
  ...historyOperations(kinds.APPLICATION),
  ...oldHistoryOperations(kinds.APPLICATION, {
    commit: Type.Optional(about('The commit that was deployed.', Nullable(Commit))),
    status: Type.Optional(
      about('How the deployment ended.', Words({ FAILED: 'It failed, or was canceled.', SUCCESS: 'It succeeded.' })),
    ),
  }),
  ...customDomainOperations(kinds.APPLICATION, { Word: '' }),
  ...customDomainStatusOperations(kinds.APPLICATION, { Word: '' }),
  ...cloneOperations(kinds.APPLICATION, Application),
  ...networkOperations(kinds.APPLICATION),
  ...advancedSettingsOperations(kinds.APPLICATION, { Word: '', ...applicationSettings }),
  ...linkOperations(kinds.APPLICATION),
  ...logOperations(kinds.APPLICATION),
  ...metricsOperations(kinds.APPLICATION),
};
