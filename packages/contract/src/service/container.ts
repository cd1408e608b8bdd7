import Type from 'typebox';
import { AnnotationsGroup } from '../group/annotations-group.ts';
import { LabelsGroup } from '../group/labels-group.ts';
import { about, DateTime, Name, Named, Nullable, Reference, Uuid, Words } from '../shape.ts';
import { DryRun } from '../shared/deployment-plan.ts';
import { containerRegistryKinds } from '../shared/words.ts';
import { Autoscaling } from './autoscaling.ts';
import { advancedSettingsOperations, containerSettings } from './advanced-settings.ts';
import { customDomainOperations, customDomainStatusOperations } from './custom-domain.ts';
import { kinds } from './kinds.ts';
import { networkOperations } from './network.ts';
import { Healthchecks, processFields, ServicePort, Storage } from './parts.ts';
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

/** A container registry in the records of services that use it. */
export const RegistryDetails = Named(
  'ContainerRegistryDetails',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    name: about('The name of the registry.', Type.String()),
    url: about('The address of the registry.', Type.String()),
    kind: Words(containerRegistryKinds),
  }),
  'The container registry of an image.',
);

export const Container = Named(
  'Container',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    storage: Type.Optional(about('The volumes of the service.', Type.Array(Storage))),
    image_name: about('The name of the image in the registry.', Type.String()),
    tag: about('The tag of the image.', Type.String()),
    registry_id: Type.Optional(about('The registry of the image.', Uuid)),
    registry: RegistryDetails,
    environment: about('The environment it belongs to.', Reference),
    maximum_cpu: about('What the cluster has, in millicores.', Type.Integer()),
    maximum_memory: about('What the cluster has, in MB.', Type.Integer()),
    maximum_gpu: about('What the cluster has; always 0.', Type.Integer()),
    name: about('Its name, unique in the environment without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    arguments: Type.Optional(about('The arguments of the process; empty: those of the image.', Type.Array(Type.String()))),
    entrypoint: Type.Optional(about('The program. Absent: that of the image.', Type.String())),
    cpu: about('The CPU limit of an instance, in millicores.', Type.Integer()),
    memory: about('The memory limit of an instance, in MB.', Type.Integer()),
    gpu: about('GPUs; always 0.', Type.Integer()),
    min_running_instances: about('The least instances.', Type.Integer()),
    max_running_instances: about('The most instances; -1: as the cluster can hold.', Type.Integer()),
    healthchecks: Healthchecks,
    auto_preview: about('Whether pull requests get a preview with it.', Type.Boolean()),
    ports: Type.Optional(about('The ports of the service.', Type.Array(ServicePort))),
    auto_deploy: Type.Optional(about('Whether a notified image tag deploys it.', Type.Boolean())),
    annotations_groups: Type.Optional(about('The annotation groups that it uses.', Type.Array(AnnotationsGroup))),
    labels_groups: Type.Optional(about('The label groups that it uses.', Type.Array(LabelsGroup))),
    icon_uri: about('The icon of the service.', Type.String()),
    service_type: about('The type, which tells records apart.', Words(['CONTAINER'] as const)),
    autoscaling: Type.Optional(about('Scaling by events. Absent: by CPU and memory.', Autoscaling)),
  }),
  'A service that runs an image of a container registry.',
);

const image = {
  registry_id: about('A container registry of the organization.', Uuid),
  image_name: about('The image without registry and tag, such as `acme/shop`.', Type.String({ minLength: 1, maxLength: 255 })),
  tag: about('The tag of the image, such as `1.4`.', Type.String({ minLength: 1, maxLength: 255 })),
};

const ContainerRequest = Named(
  'ContainerRequest',
  Type.Object({ name: about('Its name, unique in the environment without regard to case.', Name), ...image, ...processFields }),
  'A container to create.',
);
const ContainerEditRequest = Named(
  'ContainerEditRequest',
  Type.Object({
    ...Type.Partial(
      Type.Object({ name: about('Its new name, unique in the environment without regard to case.', Name), ...image }),
    ).properties,
    ...processFields,
  }),
  'The fields of a container to change; the others stay.',
);

const DeployRequest = Named(
  'ContainerDeployRequest',
  Type.Object({
    image_tag: Type.Optional(about('Another tag of the image; it becomes the configured one.', Nullable(image.tag))),
    release_id: Type.Optional(about('An earlier release from the history, to roll back; not with a tag.', Nullable(Uuid))),
  }),
  'What to deploy. Without a body: the configured tag.',
);

export const containerOperations = {
  ...recordOperations(kinds.CONTAINER, { record: Container, create: ContainerRequest, edit: ContainerEditRequest }),
  ...deployOperations(kinds.CONTAINER, {
    query: DryRun,
    body: DeployRequest,
    answer: Type.Object({}),
    description: `
      Starts the image at its tag, at \`image_tag\`, which then becomes its tag, or an earlier release by \`release_id\`,
      which is a rollback. New instances replace the running ones when they are ready; if one fails or takes longer than
      \`Healthchecks\` allows, the former ones stay.
    `,
  }),
  ...restartOperations(kinds.CONTAINER),
  ...stopOperations(kinds.CONTAINER),
  ...statusOperations(kinds.CONTAINER),
  ...historyOperations(kinds.CONTAINER),
  ...oldHistoryOperations(kinds.CONTAINER, {
    image_name: Type.Optional(about('The image that was deployed.', Type.String())),
    tag: Type.Optional(about('The tag that was deployed.', Type.String())),
    arguments: Type.Optional(about('The arguments of the process.', Type.Array(Type.String()))),
    entrypoint: Type.Optional(about('The program. Absent: that of the image.', Type.String())),
  }),
  ...customDomainOperations(kinds.CONTAINER, { Word: 'Container' }),
  ...customDomainStatusOperations(kinds.CONTAINER, { Word: 'Container' }),
  ...cloneOperations(kinds.CONTAINER, Container),
  ...networkOperations(kinds.CONTAINER),
  ...advancedSettingsOperations(kinds.CONTAINER, { Word: 'Container', ...containerSettings }),
  ...linkOperations(kinds.CONTAINER),
  ...logOperations(kinds.CONTAINER),
  ...metricsOperations(kinds.CONTAINER),
};
