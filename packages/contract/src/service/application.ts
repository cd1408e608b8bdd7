import Type from 'typebox';
import { AnnotationsGroup } from '../group/annotations-group.ts';
import { LabelsGroup } from '../group/labels-group.ts';
import { DateTime, Name, Nullable, Reference, Text, Uuid, Words } from '../shape.ts';
import { serviceTypes } from '../shared/words.ts';
import { kinds } from './kinds.ts';
import {
  GitRepository,
  GitRepositoryRequest,
  Group,
  Healthchecks,
  ServicePort,
  ServicePortRequest,
  Storage,
  StorageRequest,
} from './parts.ts';
import * as shared from './shared-operations.ts';

export const Application = Type.Object({
  id: Uuid,
  created_at: DateTime,
  updated_at: Type.Optional(DateTime),
  environment: Reference,
  name: Type.String(),
  description: Type.Optional(Type.String()),
  service_type: Words(serviceTypes),
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
});

const requestFields = {
  storage: Type.Optional(Nullable(Type.Array(StorageRequest, { maxItems: 50 }))),
  ports: Type.Optional(Nullable(Type.Array(ServicePortRequest, { maxItems: 100 }))),
  description: Type.Optional(Nullable(Text)),
  build_mode: Type.Optional(Nullable(Words(['DOCKER'] as const, { default: 'DOCKER' }))),
  dockerfile_path: Type.Optional(Nullable(Type.String({ maxLength: 1000 }))),
  docker_target_build_stage: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
  cpu: Type.Optional(Nullable(Type.Integer({ default: 500, minimum: 10, maximum: 2_147_483_647 }))),
  memory: Type.Optional(Nullable(Type.Integer({ default: 512, minimum: 6, maximum: 2_147_483_647 }))),
  gpu: Type.Optional(Nullable(Type.Integer({ default: 0, minimum: 0, maximum: 1024 }))),
  min_running_instances: Type.Optional(Nullable(Type.Integer({ default: 1, minimum: 0, maximum: 1000 }))),
  max_running_instances: Type.Optional(Nullable(Type.Integer({ default: 1, minimum: -1, maximum: 1000 }))),
  healthchecks: Type.Optional(Nullable(Healthchecks)),
  auto_preview: Type.Optional(Nullable(Type.Boolean())),
  auto_deploy: Type.Optional(Nullable(Type.Boolean())),
  arguments: Type.Optional(Nullable(Type.Array(Type.String({ maxLength: 10_000 }), { maxItems: 1000 }))),
  entrypoint: Type.Optional(Nullable(Type.String({ maxLength: 10_000 }))),
  annotations_groups: Type.Optional(Nullable(Type.Array(Group, { maxItems: 100 }))),
  labels_groups: Type.Optional(Nullable(Type.Array(Group, { maxItems: 100 }))),
  icon_uri: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 2000 }))),
};

export const ApplicationRequest = Type.Object({ name: Name, git_repository: GitRepositoryRequest, ...requestFields });
const ApplicationEditRequest = Type.Object({
  name: Type.Optional(Name),
  git_repository: Type.Optional(Nullable(GitRepositoryRequest)),
  ...requestFields,
});

const DeployRequest = Type.Object({
  git_commit_id: Type.Optional(Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' }))),
  release_id: Type.Optional(Nullable(Uuid)),
});

export const applicationOperations = {
  ...shared.recordOperations(kinds.APPLICATION, {
    record: Application,
    create: ApplicationRequest,
    edit: ApplicationEditRequest,
  }),
  ...shared.deployOperations(kinds.APPLICATION, {
    body: DeployRequest,
    answer: Type.Partial(Type.Object({ status: Type.String(), application_id: Uuid, created_at: DateTime })),
    summary: 'Deploy an application: the newest commit of its branch, `git_commit_id`, or an earlier release by `release_id`',
  }),
  ...shared.restartOperations(kinds.APPLICATION),
  ...shared.stopOperations(kinds.APPLICATION),
  ...shared.statusOperations(kinds.APPLICATION),
  ...shared.historyOperations(kinds.APPLICATION),
  ...shared.linkOperations(kinds.APPLICATION),
  ...shared.logOperations(kinds.APPLICATION),
};
