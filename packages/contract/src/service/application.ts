import Type from 'typebox';
import { AnnotationsGroup } from '../group/annotations-group.ts';
import { LabelsGroup } from '../group/labels-group.ts';
import { DateTime, Name, Nullable, Reference, Uuid, Words, Named } from '../shape.ts';
import { Autoscaling } from './autoscaling.ts';
import { advancedSettingsOperations, applicationSettings } from './advanced-settings.ts';
import { customDomainOperations, customDomainStatusOperations } from './custom-domain.ts';
import { kinds } from './kinds.ts';
import { networkOperations } from './network.ts';
import { GitRepository, GitRepositoryRequest, Healthchecks, ServicePort, processFields, Storage } from './parts.ts';
import { Commit, DryRun } from '../shared/deployment.ts';
import { metricsOperations } from './metrics.ts';
import * as shared from './shared-operations.ts';

export const Application = Named(
  'Application',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    environment: Reference,
    name: Type.String(),
    description: Type.Optional(Type.String()),
    // Only the application's own type, so that clients can distinguish the records of several types.
    service_type: Words(['APPLICATION'] as const),
    autoscaling: Type.Optional(Autoscaling),
    icon_uri: Type.String(),
    build_mode: Type.Optional(Words(['DOCKER'] as const)),
    dockerfile_path: Type.Optional(Nullable(Type.String())),
    docker_target_build_stage: Type.Optional(Nullable(Type.String())),
    cpu: Type.Optional(Type.Integer()),
    memory: Type.Optional(Type.Integer()),
    gpu: Type.Optional(Type.Integer()),
    maximum_cpu: Type.Optional(Type.Integer()),
    maximum_memory: Type.Optional(Type.Integer()),
    maximun_gpu: Type.Optional(Type.Integer()),
    min_running_instances: Type.Optional(Type.Integer()),
    max_running_instances: Type.Optional(Type.Integer()),
    auto_preview: Type.Optional(Type.Boolean()),
    auto_deploy: Type.Optional(Type.Boolean()),
    arguments: Type.Optional(Type.Array(Type.String())),
    entrypoint: Type.Optional(Type.String()),
    ports: Type.Optional(Type.Array(ServicePort)),
    storage: Type.Array(Storage),
    healthchecks: Healthchecks,
    git_repository: Type.Optional(GitRepository),
    annotations_groups: Type.Optional(Type.Array(AnnotationsGroup)),
    labels_groups: Type.Optional(Type.Array(LabelsGroup)),
  }),
);

const buildFields = {
  build_mode: Type.Optional(Nullable(Words(['DOCKER'] as const, { default: 'DOCKER' }))),
  dockerfile_path: Type.Optional(Nullable(Type.String({ maxLength: 1000 }))),
  docker_target_build_stage: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
};

export const ApplicationRequest = Named(
  'ApplicationRequest',
  Type.Object({
    name: Name,
    git_repository: GitRepositoryRequest,
    ...buildFields,
    ...processFields,
  }),
);
const ApplicationEditRequest = Named(
  'ApplicationEditRequest',
  Type.Object({
    name: Type.Optional(Name),
    git_repository: Type.Optional(Nullable(GitRepositoryRequest)),
    ...buildFields,
    ...processFields,
  }),
);

const DeployRequest = Named(
  'ApplicationDeployRequest',
  Type.Object({
    git_commit_id: Type.Optional(Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' }))),
    release_id: Type.Optional(Nullable(Uuid)),
  }),
);

export const applicationOperations = {
  ...shared.recordOperations(kinds.APPLICATION, {
    record: Application,
    create: ApplicationRequest,
    edit: ApplicationEditRequest,
  }),
  ...shared.deployOperations(kinds.APPLICATION, {
    query: DryRun,
    body: DeployRequest,
    answer: Named(
      'ApplicationDeploymentStart',
      Type.Partial(Type.Object({ status: Type.String(), application_id: Uuid, created_at: DateTime })),
    ),
    summary: 'Deploy an application: the newest commit of its branch, `git_commit_id`, or an earlier release by `release_id`',
  }),
  ...shared.restartOperations(kinds.APPLICATION),
  ...shared.stopOperations(kinds.APPLICATION),
  ...shared.statusOperations(kinds.APPLICATION),
  ...shared.historyOperations(kinds.APPLICATION),
  ...shared.oldHistoryOperations(kinds.APPLICATION, {
    commit: Type.Optional(Nullable(Commit)),
    status: Type.Optional(Words(['FAILED', 'SUCCESS'] as const)),
  }),
  ...customDomainOperations(kinds.APPLICATION, { Word: '' }),
  ...customDomainStatusOperations(kinds.APPLICATION, { Word: '' }),
  ...shared.cloneOperations(kinds.APPLICATION, Application),
  ...networkOperations(kinds.APPLICATION),
  ...advancedSettingsOperations(kinds.APPLICATION, { Word: '', ...applicationSettings }),
  ...shared.linkOperations(kinds.APPLICATION),
  ...shared.logOperations(kinds.APPLICATION),
  ...metricsOperations(kinds.APPLICATION),
};
