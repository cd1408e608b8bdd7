import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Optionals, Text, Uuid, Words } from '../shape.ts';
import { ServiceStatus } from '../shared/status.ts';
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
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    name: about('The name of the registry.', Type.String()),
    kind: Words(containerRegistryKinds),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    url: about('The address of the registry.', Type.String()),
    cluster: Type.Optional(
      about(
        'Never sent: no registry comes with a cluster.',
        Named(
          'ContainerRegistryCluster',
          Type.Object({ id: about('The `id` of the cluster.', Uuid), name: about('The name of the cluster.', Type.String()) }),
          'The cluster that a registry came with.',
        ),
      ),
    ),
    associated_services_count: about('How many services use it.', Type.Integer()),
    config: ShownCredentials,
  }),
  'A registry of images, with credentials.',
);

const ContainerRegistryRequest = Named(
  'ContainerRegistryRequest',
  Type.Object({
    name: about('Its name, unique in the organization without regard to case.', Name),
    kind: about('The vendor, which determines `config`.', Words(containerRegistryKinds)),
    description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
    url: Type.Optional(
      about(
        'The address; fixed for HUBA_CR, HOSTA_CR and HOSTB_CR, else required to create.',
        Nullable(Type.String({ maxLength: 2000 })),
      ),
    ),
    config: about(
      'Credentials; the kind says which members it needs. Secrets are never shown.',
      Named(
        'ContainerRegistryCredentials',
        Optionals({
          ...credentialFields,
          json_credentials: about('The key file of a service account; write-only.', jsonCredentials),
        }),
        'Credentials for a registry.',
      ),
    ),
  }),
  'A registry to create, or its new fields.',
);

export const listAvailableContainerRegistry = operation({
  id: 'listAvailableContainerRegistry',
  method: 'GET',
  path: '/availableContainerRegistry',
  tag,
  summary: 'List the kinds of container registries',
  description: `
    Returns the kinds of registries that can be created, each with the members of \`config\` that a request of this kind needs. 
  `,
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
  summary: 'List the container registries of an organization',
  description: `
    Returns the registries, oldest first, with the number of services that use each. Secrets of their credentials are never
    shown.
  `,
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
  summary: 'Create a container registry',
  description: `
    Stores the address and the credentials of a registry; secrets are encrypted. Containers and jobs then name it in
    \`registry_id\`. The registry is not contacted: \`getContainerVersions\` tries the credentials.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A registry has the name; case does not matter. | Choose another name. |
  `,
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
  summary: 'Read a container registry',
  description: `
    Returns the address and the credentials of the registry, and the number of services that use it. Secrets are never
    shown.
  `,
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
  summary: 'Edit a container registry',
  description: `
    Changes the registry. Members of \`config\` that you leave out or send empty stay, null removes them. If the kind or the URL
    changes, send all of them again: secrets of one host are not sent to another. Services use the new credentials from their
    next deployment on.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A registry has the name; case does not matter. | Choose another name. |
  `,
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
  summary: 'Delete a container registry',
  description: `
    Deletes the record of a registry that no service uses, with its credentials. The registry itself and its images stay.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | Services use it; the message names them. | Give them another registry. |
  `,
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
  description: `
    Returns the containers and jobs whose image comes from the registry, oldest first, with project and environment. A
    registry that a service uses cannot be deleted.
  `,
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
  summary: "Read the statuses of a registry's containers",
  description: `
    Returns the status of each container whose image comes from the registry, oldest first: the containers that a change of
    its credentials can affect.
  `,
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
  summary: 'List the images or tags in a registry',
  description: `
    Asks the registry for the tags of \`imageName\`, highest version first, or without it for the names of its images. 

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NOT_SUPPORTED\` (400) | The registry does not list its images, or is an ECR. | Send \`imageName\`. |
    | \`REMOTE_UNREACHABLE\` (424) | The registry does not answer. | Check its URL. |
    | \`REMOTE_REFUSED\` (424) | It refuses the credentials. | Edit them. |
    | \`REMOTE_NOT_UNDERSTOOD\` (424) | It answers like no registry. | Check its URL. |
  `,
  scope: 'READ',
  target: 'organization',
  query: Optionals({
    imageName: about('The image whose tags to list, without registry and tag: `team/web`.', Type.String({ maxLength: 255 })),
    search: about('Only images whose name contains this. Ignored with `imageName`.', Type.String({ maxLength: 255 })),
  }),
  status: 200,
  response: List(
    Named(
      'ContainerVersion',
      Optionals({
        image_name: about('The name of the image.', Type.String()),
        versions: about('Its tags, highest version first. Absent in a list of images.', Type.Array(Type.String())),
      }),
      'An image of a registry, with its tags.',
    ),
  ),
  errors: [400, 424],
});
