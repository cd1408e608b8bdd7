import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Nullable, Optionals, Text, Uuid, Words, Named } from '../shape.ts';
import { ServiceStatus } from '../shared/deployment.ts';
import { AssociatedServices } from '../shared/associated-services.ts';
import { containerRegistryKinds } from '../shared/words.ts';
import { AvailableKinds } from './available-kinds.ts';
import { credentialFields, jsonCredentials, ShownCredentials } from './credentials.ts';

const tag = 'Container registry';
const path = '/organization/{organizationId}/containerRegistry';
const onePath = `${path}/{containerRegistryId}` as const;

const ContainerRegistry = Named(
  'ContainerRegistry',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    name: Type.String(),
    kind: Words(containerRegistryKinds),
    description: Type.Optional(Type.String()),
    url: Type.String(),
    cluster: Type.Optional(Named('ContainerRegistryCluster', Type.Object({ id: Uuid, name: Type.String() }))),
    associated_services_count: Type.Integer(),
    config: ShownCredentials,
  }),
);

const ContainerRegistryRequest = Named(
  'ContainerRegistryRequest',
  Type.Object({
    name: Name,
    kind: Words(containerRegistryKinds),
    description: Type.Optional(Nullable(Text)),
    url: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
    config: Named('ContainerRegistryCredentials', Optionals({ ...credentialFields, json_credentials: jsonCredentials })),
  }),
);

export const listAvailableContainerRegistry = operation({
  id: 'listAvailableContainerRegistry',
  method: 'GET',
  path: '/availableContainerRegistry',
  tag,
  summary: 'List the kinds of container registries and the members of `config` that each needs',
  scope: 'READ',
  target: 'instance',
  status: 200,
  response: AvailableKinds('AvailableContainerRegistry', containerRegistryKinds),
  errors: [],
});

export const listContainerRegistry = operation({
  id: 'listContainerRegistry',
  method: 'GET',
  path,
  tag,
  summary: 'List the container registries of an organization, without their secrets',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(ContainerRegistry),
  errors: [],
});

export const createContainerRegistry = operation({
  id: 'createContainerRegistry',
  method: 'POST',
  path,
  tag,
  summary: 'Create a container registry; HUBA_CR, HOSTA_CR and HOSTB_CR have a fixed url, all other kinds require one',
  scope: 'WRITE',
  target: 'organization',
  body: ContainerRegistryRequest,
  status: 201,
  response: ContainerRegistry,
  errors: [400, 409],
});

export const getContainerRegistry = operation({
  id: 'getContainerRegistry',
  method: 'GET',
  path: onePath,
  tag,
  summary: 'Read a container registry, without its secrets',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: ContainerRegistry,
  errors: [],
});

export const editContainerRegistry = operation({
  id: 'editContainerRegistry',
  method: 'PUT',
  path: onePath,
  tag,
  summary: 'Edit a container registry; omitted members of `config` stay unless kind or url changes',
  scope: 'WRITE',
  target: 'organization',
  body: ContainerRegistryRequest,
  status: 200,
  response: ContainerRegistry,
  errors: [400, 409],
});

export const deleteContainerRegistry = operation({
  id: 'deleteContainerRegistry',
  method: 'DELETE',
  path: onePath,
  tag,
  summary: 'Delete a container registry that no service uses',
  scope: 'WRITE',
  target: 'organization',
  status: 204,
  response: null,
  errors: [409],
});

export const getContainerRegistryAssociatedServices = operation({
  id: 'getContainerRegistryAssociatedServices',
  method: 'GET',
  path: `${onePath}/associatedServices`,
  tag,
  summary: 'List the services that use a container registry',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: AssociatedServices('ContainerRegistryService', ['CONTAINER', 'LIFECYCLE', 'CRON']),
  errors: [],
});

export const getContainerRegistryContainerStatus = operation({
  id: 'getContainerRegistryContainerStatus',
  method: 'GET',
  path: `${onePath}/container/status`,
  tag,
  summary: 'List the status of each container whose image is in this registry',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(ServiceStatus),
  errors: [],
});

export const getContainerVersions = operation({
  id: 'getContainerVersions',
  method: 'GET',
  path: `${onePath}/images`,
  tag,
  summary: 'List the tags of an image in the registry (`imageName`), or the names of its images (that contain `search`)',
  scope: 'READ',
  target: 'organization',
  query: Optionals({ imageName: Type.String({ maxLength: 255 }), search: Type.String({ maxLength: 255 }) }),
  status: 200,
  response: List(Named('ContainerVersion', Optionals({ image_name: Type.String(), versions: Type.Array(Type.String()) }))),
  errors: [400, 424],
});
