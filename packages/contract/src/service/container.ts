import Type from 'typebox';
import { AnnotationsGroup } from '../group/annotations-group.ts';
import { LabelsGroup } from '../group/labels-group.ts';
import { DateTime, Name, Nullable, Reference, Uuid, Words, Named } from '../shape.ts';
import { DryRun } from '../shared/deployment.ts';
import { containerRegistryKinds } from '../shared/words.ts';
import { Autoscaling } from './autoscaling.ts';
import { advancedSettingsOperations, containerSettings } from './advanced-settings.ts';
import { customDomainOperations, customDomainStatusOperations } from './custom-domain.ts';
import { kinds } from './kinds.ts';
import { networkOperations } from './network.ts';
import { Healthchecks, processFields, ServicePort, Storage } from './parts.ts';
import { metricsOperations } from './metrics.ts';
import * as shared from './shared-operations.ts';

/** A container registry in the records of services that use it. */
export const RegistryDetails = Named(
  'ContainerRegistryDetails',
  Type.Object({
    id: Uuid,
    name: Type.String(),
    url: Type.String(),
    kind: Words(containerRegistryKinds),
  }),
);

export const Container = Named(
  'Container',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    storage: Type.Optional(Type.Array(Storage)),
    image_name: Type.String(),
    tag: Type.String(),
    registry_id: Type.Optional(Uuid),
    registry: RegistryDetails,
    environment: Reference,
    maximum_cpu: Type.Integer(),
    maximum_memory: Type.Integer(),
    maximum_gpu: Type.Integer(),
    name: Type.String(),
    description: Type.Optional(Type.String()),
    arguments: Type.Optional(Type.Array(Type.String())),
    entrypoint: Type.Optional(Type.String()),
    cpu: Type.Integer(),
    memory: Type.Integer(),
    gpu: Type.Integer(),
    min_running_instances: Type.Integer(),
    max_running_instances: Type.Integer(),
    healthchecks: Healthchecks,
    auto_preview: Type.Boolean(),
    ports: Type.Optional(Type.Array(ServicePort)),
    auto_deploy: Type.Optional(Type.Boolean()),
    annotations_groups: Type.Optional(Type.Array(AnnotationsGroup)),
    labels_groups: Type.Optional(Type.Array(LabelsGroup)),
    icon_uri: Type.String(),
    service_type: Words(['CONTAINER'] as const),
    autoscaling: Type.Optional(Autoscaling),
  }),
);

const image = {
  registry_id: Uuid,
  image_name: Type.String({ minLength: 1, maxLength: 255 }),
  tag: Type.String({ minLength: 1, maxLength: 255 }),
};

const ContainerRequest = Named('ContainerRequest', Type.Object({ name: Name, ...image, ...processFields }));
const ContainerEditRequest = Named(
  'ContainerEditRequest',
  Type.Object({ ...Type.Partial(Type.Object({ name: Name, ...image })).properties, ...processFields }),
);

const DeployRequest = Named(
  'ContainerDeployRequest',
  Type.Object({
    image_tag: Type.Optional(Nullable(image.tag)),
    release_id: Type.Optional(Nullable(Uuid)),
  }),
);

export const containerOperations = {
  ...shared.recordOperations(kinds.CONTAINER, { record: Container, create: ContainerRequest, edit: ContainerEditRequest }),
  ...shared.deployOperations(kinds.CONTAINER, {
    query: DryRun,
    body: DeployRequest,
    answer: Type.Object({}),
    summary:
      'Deploy a container: its image at its tag, at `image_tag`, which then becomes its tag, or an earlier release by `release_id`',
  }),
  ...shared.restartOperations(kinds.CONTAINER),
  ...shared.stopOperations(kinds.CONTAINER),
  ...shared.statusOperations(kinds.CONTAINER),
  ...shared.historyOperations(kinds.CONTAINER),
  ...shared.oldHistoryOperations(kinds.CONTAINER, {
    image_name: Type.Optional(Type.String()),
    tag: Type.Optional(Type.String()),
    arguments: Type.Optional(Type.Array(Type.String())),
    entrypoint: Type.Optional(Type.String()),
  }),
  ...customDomainOperations(kinds.CONTAINER, { Word: 'Container' }),
  ...customDomainStatusOperations(kinds.CONTAINER, { Word: 'Container' }),
  ...shared.cloneOperations(kinds.CONTAINER, Container),
  ...networkOperations(kinds.CONTAINER),
  ...advancedSettingsOperations(kinds.CONTAINER, { Word: 'Container', ...containerSettings }),
  ...shared.linkOperations(kinds.CONTAINER),
  ...shared.logOperations(kinds.CONTAINER),
  ...metricsOperations(kinds.CONTAINER),
};
